"""What must hold for all sessions together: the queue of a limit, and the breaker. Times are true, not the clock's."""

from __future__ import annotations

from collections import defaultdict

from rekindle.core.governor import facts as g
from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS, Session
from tests.simulate.stage import Stage
from tests.simulate.violation import demand

#: A start is counted when it is allowed, and made a moment later: so much shorter is the time that is looked at.
_SLACK = 60.0
#: A start that is not in vain is not counted: it may have been allowed a moment before restarts were stopped.
_UNDER_WAY = 1.0


class GovernorOracle:
    """Looks at the facts of all sessions, and of the governor, as they come."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._rules = stage.world.governor_rules
        self._returned: defaultdict[str, list[float]] = defaultdict(list)
        self._places: set[tuple[str, str]] = set()
        #: automatic restarts in vain since the last progress of their session, or a person's word
        self._vain: list[tuple[float, str]] = []
        self._counted: set[str] = set()
        self._stopped_at: float | None = None
        #: when a person last asked each session for something, and which were restarted in vain since
        self._asked: dict[str, float] = {}
        self._tried: set[str] = set()

    def governor_fact(self, fact: g.GovernorFact, when: float) -> None:
        """The governor has recorded something."""
        match fact:
            case g.Returned():
                self._come_back(fact, when)
            case g.RestartCounted():
                self._counted.add(fact.effect)
            case g.GovernorAsked(trigger="breaker"):
                is_first = self._stopped_at is None or self._stage.was_overtaken  # see `_come_back`
                demand(is_first, "a person is asked twice whether restarts go on")
            case g.RestartsStopped():
                self._stopped_at = when if self._stopped_at is None else self._stopped_at
            case g.RestartsAllowed():
                self._stopped_at = None
                self._vain.clear()
            case _:
                pass

    def fact(self, session: Session, fact: f.AnyFact, when: float) -> None:
        """Something was recorded about a session, which is as it was before."""
        match fact:
            case f.PromptQueued(by=by) | f.ResumeAsked(by=by) | f.Hurried(by=by) if by != OURS:
                self._asked[session.id] = when
                self._tried.discard(session.id)
            case f.PromptSent():
                self._sent(session, fact)
            case f.Progressed() if "restarts" in fact.budgets:
                self._vain = [one for one in self._vain if one[1] != session.id]
                self._tried.discard(session.id)
            case f.LaunchIntended():
                self._started(session, fact, when)
            case f.BudgetSpent(in_vain=True):
                self._in_vain(session.id, when)
            case _:
                pass

    def _come_back(self, fact: g.Returned, when: float) -> None:
        place = (fact.session, fact.prompt)
        if self._stage.was_overtaken:  # two daemons are kept apart by the daemon's lock alone
            self._places.add(place)
            return
        demand(place not in self._places, f"{fact.session} has got its place after a limit twice ({fact.prompt})")
        self._places.add(place)
        returns, most = self._returned[fact.limit], self._rules.returns_per_minute
        returns.append(when)
        crowd = [one for one in returns if one > self._earliest(when, 60.0)]
        demand(len(crowd) <= most, f"{len(crowd)} sessions came back from a limit in a minute, and {most} may")

    def _earliest(self, when: float, seconds: float) -> float:
        """What is older than this is so long ago. Nobody can tell how long ago it is if nobody saw the clock set."""
        world = self._stage.world
        return max(when - seconds, world.set_forward_at) if world.is_ahead else when - seconds

    def _sent(self, session: Session, fact: f.PromptSent) -> None:
        prompt = next((one for one in session.prompts if one.id == fact.prompt), None)
        if prompt is None or prompt.by != OURS or not prompt.limit or prompt.hurried:
            return
        has_place = (session.id, prompt.id) in self._places
        demand(has_place, f"{session.id} went on after a limit before its turn had come ({prompt.id})")

    def _started(self, session: Session, fact: f.LaunchIntended, when: float) -> None:
        before = session.attempt
        if self._stopped_at is not None and when < self._stopped_at + _UNDER_WAY:
            return
        if before is None or before.by_us or session.resume_asked not in (None, OURS) or self._stopped_at is None:
            return
        is_allowed = f"launch-{session.id}-{fact.attempt}" in self._counted
        told = f"{session.id} was restarted (attempt {fact.attempt}) although restarts are stopped"
        demand(is_allowed or self._is_wanted(session.id), told)

    def _is_wanted(self, session: str) -> bool:
        """Whether a person has asked for it since restarts were stopped: that allows one restart in vain."""
        stopped = self._stopped_at
        return stopped is not None and session not in self._tried and self._asked.get(session, -1.0) >= stopped

    def _in_vain(self, session: str, when: float) -> None:
        if self._rules.restarts is None:
            return
        if self._is_wanted(session):
            self._tried.add(session)
            return
        self._vain.append((when, session))
        earliest = self._earliest(when, self._rules.restart_seconds - _SLACK)
        recent = [one for one in self._vain if one[0] > earliest]
        most = self._rules.restarts
        told = f"{len(recent)} restarts in vain in a short time, and after {most} they are to be stopped"
        demand(len(recent) <= most, told)
