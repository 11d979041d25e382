"""What must hold for the rules of a runbook: each happens once, at its time, and never more often than it may."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import NamedTuple

from rekindle.core.runbook.triggers import ERROR_CLASSES, TRIGGERS
from rekindle.core.session import facts as f
from rekindle.core.session.choosing import budget_of, newest_turn
from rekindle.core.session.state import OURS, TERMINAL, Session
from tests.simulate.simulation import Simulation
from tests.simulate.violation import demand

#: A new conversation that a person brings about is booked, whatever is left. Only those that begin by
#: themselves have a limit.
_BY_A_PERSON = "renewals"
#: A clock that is corrected by less than this was not set.
_CORRECTED = 1.1
#: So much later than its time something may be done.
_LATE = 60.0
#: A slow disk may take so long to record what was decided. The time counts from the decision.
_RECORDED = 10.0


class Wait(NamedTuple):
    """When something is truly due, and how long it had to wait when that was decided."""

    at: float
    seconds: float


class RuleOracle:
    """Looks at the facts of each session as they come."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._spent: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._gates: set[tuple[str, str]] = set()
        self._wanted: dict[tuple[str, str], float] = {}
        self._asked: defaultdict[str, Counter[tuple[object, ...]]] = defaultdict(Counter)
        self._rested: dict[str, float] = {}
        self._lifted: dict[str, float] = {}
        self.due: dict[tuple[str, str], Wait] = {}

    def fact(self, session: Session, fact: f.AnyFact, when: float) -> None:
        """Something was truly recorded at `when`; `session` is as it was before."""
        if session.on_hold and isinstance(fact, f.HoldLifted | f.ResumeAsked | f.Hurried):
            self._lifted[session.id] = when
        match fact:
            case f.BudgetSpent():
                self._spend(session, fact.budget)
            case f.Progressed():
                for name in fact.budgets:
                    self._spent[session.id].pop(name, None)
            case f.ResumeAsked() | f.RulesSet() | f.EscalationAnswered():
                self._asked[session.id].clear()
                self._spent[session.id].pop(_BY_A_PERSON, None)
            case f.PromptQueued(by="user"):
                self._spent[session.id].pop(_BY_A_PERSON, None)
            case f.GateWanted():
                self._wanted[session.id, fact.gate] = when
            case f.GateRan():
                key = (session.id, fact.gate)
                demand(key not in self._gates, f"{session.id}: the gate {fact.gate} was decided twice")
                self._gates.add(key)
            case f.Escalated():
                newest = newest_turn(session)
                about = (fact.trigger, fact.attempt, newest.id if newest is not None else "")
                self._asked[session.id][about] += 1
                again = f"{session.id}: a person is asked twice about the same ({' '.join(map(str, about))})"
                demand(self._asked[session.id][about] == 1, again)
            case f.TurnFinished() | f.TurnFailed() | f.Opened():
                self._rested[session.id] = self._simulation.world.when(fact.at, when)  # recorded a moment later
            case f.PromptQueued(by=by) if by == OURS and fact.after is not None:
                self._has_to_wait(session.id, fact, fact.after - fact.at, when)
            case f.PromptQueued(by=by) if by == OURS and _is_nudge(fact.prompt):
                self._nudged(session, when)
            case f.PromptSent():
                self._said(session, fact, when)
            case _:
                pass

    def _has_to_wait(self, session: str, fact: f.PromptQueued, seconds: float, when: float) -> None:
        decided = max(self._simulation.world.when(fact.at, when), when - _RECORDED)
        self.due.setdefault((session, fact.prompt), Wait(decided + seconds, seconds))

    def _spend(self, session: Session, budget: str) -> None:
        if budget == _BY_A_PERSON and session.queued:
            return  # a prompt of a person waits for it; a start that fails is booked again
        spent = self._spent[session.id]
        spent[budget] += 1
        most = _most(session, budget)
        if most is not None:
            demand(spent[budget] <= most, f"{session.id}: {budget} was spent {spent[budget]} times, and {most} is all")

    def _nudged(self, session: Session, when: float) -> None:
        [rule, *_] = session.rules.of("idle")
        since = when - self._rested.get(session.id, when)
        is_sure = rule.action == "nudge" and not self._simulation.world.is_ahead
        early = f"{session.id}: nudged after {since:.1f} s of rest, and {rule.pause(0):g} s is the rule's time"
        demand(not is_sure or since >= rule.pause(0) - 0.01, early)

    def _said(self, session: Session, fact: f.PromptSent, when: float) -> None:
        due = self.due.get((session.id, fact.prompt))
        prompt = next((one for one in session.prompts if one.id == fact.prompt), None)
        if due is None or prompt is None or prompt.after is None or self._simulation.world.is_ahead:
            return
        if prompt.limit and self._simulation.world.was_set_forward:
            return  # the end of a limit is a time of the day
        early = f"{session.id}: {fact.prompt} was sent {due.at - when:.1f} s before its time"
        demand(when >= due.at - _CORRECTED, early)

    def waits_no_longer(self, session: Session, now: float, healthy_since: float) -> None:
        """What had to wait is done when its time has come. Called while nothing is in its way since `healthy_since`."""
        attempt, queued = session.attempt, session.sendable
        if not queued or attempt is None or attempt.status != "ready" or session.turn is not None or attempt.given_up:
            return
        due = self.due.get((session.id, queued[0].id))
        if due is None or queued[0].limit or session.gate is not None or session.stop_asked is not None:
            return
        late = f"{session.id}: {queued[0].id} had to wait for {due.seconds:.0f} s, and still waits"
        latest = max(due.at, healthy_since + due.seconds, self._lifted.get(session.id, 0.0)) + _LATE
        demand(now <= latest, f"{late} {now - due.at:.0f} s after its time")

    def gate_is_decided(self, session: Session, now: float, healthy_since: float) -> None:
        """A command that is to decide runs to its end. Called while nothing is in its way since `healthy_since`."""
        if session.gate is not None and session.state not in TERMINAL:
            since = max(self._wanted[session.id, session.gate.id], healthy_since)
            late = f"{session.id}: the gate {session.gate.id} is not decided after {now - since:.0f} s"
            demand(now - since <= _LATE, late)

    def gates_ran(self) -> None:
        """A command runs again only if a daemon was killed while it ran."""
        deaths = self._simulation.deaths
        for (session, gate), runs in self._simulation.world.gates.items():
            for before, again in pairwise(runs):
                told = f"{session}: the command of gate {gate} ran twice, and no daemon died in between"
                demand(any(before <= one <= again for one in deaths), told)


def _is_nudge(prompt: str) -> bool:
    return prompt.rpartition("+")[2].startswith("i")


def _most(session: Session, budget: str) -> int | None:
    """How often a budget may be spent; None: for ever, or no rule has it."""
    found: list[int | None] = [
        rule.attempts
        for trigger in TRIGGERS
        for rule in session.rules.of(trigger)
        for what in (ERROR_CLASSES if trigger == "error" else ("",))
        if budget_of(trigger, rule, what) == budget
    ]
    known = [one for one in found if one is not None]
    if not found or len(known) < len(found):
        return None
    return (
        max(*known, session.rules.restarts.times) if budget == "restarts" else max(known)
    )  # failed starts have it too
