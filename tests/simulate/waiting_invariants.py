"""What must hold for sessions that wait, are silent, or have used what they may, and for answers. Times are true."""

from __future__ import annotations

from collections import defaultdict

from rekindle.app.questions import AnsweredQuestion
from rekindle.app.session_view import SessionView
from rekindle.core.governor import facts as g
from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS, TERMINAL, Session
from tests.simulate.stage import Stage
from tests.simulate.violation import demand

#: So much earlier than the rule says an agent may be called silent: its last words reach the daemon a moment later.
_EARLY = 1.0
#: A prompt may be under way so long before the agent has got it.
_UNDER_WAY = 0.05
#: So long after it was hurried a session may take to go on, while nothing is in its way.
_HURRIED = 60.0
#: So much later than the rule says a silent agent may be called so.
_LATE = 60.0


class WaitingOracle:
    """Looks at the facts of each session as they come, and at what people were told about their answers."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._world = stage.world
        #: by question: the answers that were recorded
        self._answers: defaultdict[str, list[tuple[str | None, str]]] = defaultdict(list)
        self._hurried: dict[tuple[str, str], float] = {}
        self._held: dict[str, float] = {}
        #: by attempt: when its agent was last called silent
        self._called: dict[tuple[str, int], float] = {}

    def governor_fact(self, fact: g.GovernorFact) -> None:
        """The governor has recorded something."""
        if isinstance(fact, g.GovernorAnswered):
            self._answered(fact.question, fact.option, fact.by)

    def fact(self, session: Session, fact: f.AnyFact, when: float) -> None:
        """Something was recorded about a session, which is as it was before."""
        match fact:
            case f.PermissionAnswered():
                asked = [one.id for one in session.permissions if one.request == fact.request and not one.answered]
                for name in asked[:1]:
                    self._answered(name, fact.option, fact.by)
            case f.EscalationAnswered():
                self._answered(fact.question, fact.option, fact.by)
            case f.HoldAsked():
                self._held[session.id] = when
            case f.PromptSent():
                self._said(session, fact)
            case f.LaunchIntended():
                self._started(session)
            case f.Stalled():
                self._silent(session, fact, when)
            case f.LimitReached():
                most = session.limits.tokens
                used = self._world.used[session.id]
                unused = f"{session.id} is stopped at its limit of {most} tokens, and has used {used}"
                demand(most is not None and used >= most, unused)
            case _:
                pass

    def after_step(self) -> None:
        """What people were told is true."""
        for reply in self._stage.replied:
            told = reply.request.reply
            if reply.request.state != "answered" or not isinstance(told, AnsweredQuestion) or told.told:
                continue
            wrong = f"{reply.by} was told that {reply.question} is answered with {told.option}, and it is not"
            demand(told.option in [option for option, _ in self._answers[told.question]], wrong)

    def goes_on(self, session: Session, told: SessionView, now: float) -> None:
        """What is hurried goes on, until a person is needed or has decided otherwise. Called while all is well.

        A turn that fails after that waits anew, and what is behind it in the queue with it.
        """
        is_over = told.needs_you or bool(session.on_hold) or session.state in TERMINAL
        for number, prompt in enumerate(session.queued):
            if is_over or number or session.turn is not None:
                self._hurried.pop((session.id, prompt.id), None)
            elif prompt.hurried:
                since = self._hurried.setdefault((session.id, prompt.id), now)
                waits = f"{session.id} was hurried, and {prompt.id} still waits after {now - since:.0f} s"
                demand(now - since <= _HURRIED, waits)

    def falls_silent(self, session: Session, now: float, healthy_since: float) -> None:
        """An agent that hangs is called silent in time. Called while nothing is in the way since `healthy_since`."""
        most = session.limits.stall_seconds
        key = (session.id, session.attempt.number if session.attempt is not None else 0)
        turn = self._world.turns.get(key)
        if most is None or turn is None or turn.tool is not None or turn.question is not None:
            return
        since = max(self._world.stirred_at[key][-1], healthy_since)
        is_called = self._called.get(key, -1.0) >= self._world.got_at[session.id, turn.prompt]
        late = f"{session.id} is silent for {now - since:.0f} s, and {most:g} s is the limit"
        demand(is_called or now - since <= most + _LATE, late)

    def _answered(self, question: str, option: str | None, by: str) -> None:
        self._answers[question].append((option, by))
        demand(len(self._answers[question]) == 1, f"{question} was answered twice: {self._answers[question]}")

    def _said(self, session: Session, fact: f.PromptSent) -> None:
        prompt = next((one for one in session.prompts if one.id == fact.prompt), None)
        if prompt is None:
            return
        got = self._world.got_at.get((session.id, prompt.id), 0.0)
        held = bool(session.on_hold) and prompt.by == OURS and got > self._held.get(session.id, got) + _UNDER_WAY
        demand(not held, f"{session.id} is on hold, and {prompt.id} was sent")
        spent = f"{session.id} has used what it may ({session.over}), and {prompt.id} was sent"
        demand(not session.over, spent)

    def _started(self, session: Session) -> None:
        is_wanted = session.resume_asked not in (None, OURS) or any(one.by != OURS for one in session.queued)
        held = bool(session.on_hold) and session.attempt is not None and not is_wanted
        demand(not held, f"{session.id} is on hold, and its agent was started by itself")

    def _silent(self, session: Session, fact: f.Stalled, when: float) -> None:
        key, most = (session.id, fact.attempt), session.limits.stall_seconds or 0.0
        self._called[key] = when
        stirred = [0.0, *self._world.stirred_at.get(key, [])]
        silent = when - max(one for one in stirred if one < when - _EARLY or one == 0.0)  # the newest is not heard yet
        early = f"{session.id} is called silent after {silent:.1f} s, and {most:g} s is the limit"
        demand(silent >= most - _EARLY or self._world.is_ahead, early)
        turn = self._world.turns.get(key)
        waits = turn is not None and turn.question is not None and turn.question.at < when - _EARLY
        demand(not waits, f"{session.id} is called silent while its question waits for a person")
