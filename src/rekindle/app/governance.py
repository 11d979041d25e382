"""What spans sessions, for those who ask: restarts, spending, who waits for which limit, and open questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from rekindle.app.session_view import SessionView
from rekindle.core.governor import asking
from rekindle.core.governor import facts as g
from rekindle.core.governor.admission import Admission, waiting_for
from rekindle.core.governor.queueing import schedule
from rekindle.core.governor.spending import windows
from rekindle.core.governor.state import Governor, GovernorQuestion, GovernorSettled
from rekindle.core.session.activity import waits_until
from rekindle.core.session.plan import plan
from rekindle.core.session.state import Session
from rekindle.runtime.supervisor import Supervisor


class SpendingView(msgspec.Struct, frozen=True):
    """What all sessions have spent today or tonight, in dollars. `limit` None: there is none."""

    name: str
    spent: float
    limit: float | None
    until: float


class RestartView(msgspec.Struct, frozen=True):
    """A restart after which a session has made no progress."""

    session: str
    at: float


class QueueView(msgspec.Struct, frozen=True):
    """Who waits for one limit, in the order in which they come back, and when each does as far as is known."""

    limit: str
    sessions: list[tuple[str, float]]


class PlacesView(msgspec.Struct, frozen=True):
    """Agents at work, and room for more. `most` None: any number. `waiting` is in the order in which they come.

    Memory is in bytes, None where nobody can tell. `short`: why memory is short now; empty: it is not.
    """

    at_work: int
    most: int | None
    why: str
    waiting: list[str]
    waits_for_time: int
    waits_for_you: int
    memory: int | None
    available: int | None
    short: str


class GovernorView(msgspec.Struct, frozen=True):
    """What spans sessions. `stopped_since`: since when nothing is restarted automatically; None: it is."""

    restarts: list[RestartView]
    max_restarts: int | None
    restart_seconds: float
    stopped_since: float | None
    stopped_by: str
    spending: list[SpendingView]
    queues: list[QueueView]
    questions: list[dict[str, Any]]
    places: PlacesView


class Governance:
    """Raises RekindleError."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._governing = supervisor.governing
        self._engine = supervisor.engine

    async def governor(self) -> GovernorView:
        """Everything that spans sessions."""
        state, rules, now = await self._governing.shown(), self._governing.rules, self._engine.clock()
        counted = asking.in_vain(state, rules, now)
        return GovernorView(
            [RestartView(one.session, one.at) for one in counted],
            rules.restarts,
            rules.restart_seconds,
            state.stopped.since if state.stopped is not None else None,
            state.stopped.by if state.stopped is not None else "",
            [
                SpendingView(one.name, round(one.spent, 6), one.cap, one.until)
                for one in windows(state, rules, now, self._governing.zone)
            ],
            self._queues(state, now),
            [asking.shown(one) for one in state.questions],
            self._places(now),
        )

    async def go_on(self, by: str) -> GovernorView:
        """Let sessions be restarted automatically again, whatever was answered before."""

        def allowed(state: Governor) -> Sequence[g.GovernorFact]:
            now = self._engine.clock()
            answered = [
                g.GovernorAnswered(at=now, question=one.id, option="go-on", by=by)
                for one in state.questions
                if one.trigger == asking.BREAKER
            ]
            return answered or [g.RestartsAllowed(at=now, by=by)]

        await self._governing.tell(allowed)
        return await self.governor()

    async def questions(self) -> list[GovernorQuestion | GovernorSettled]:
        """Its questions: those that are open, then those that are over."""
        state = await self._governing.shown()
        return [*state.questions, *state.settled]

    async def answer(self, question: str, option: str, by: str) -> GovernorQuestion | GovernorSettled:
        """Answer a question once. Returns it as it is then: the first answer counts."""
        fact = g.GovernorAnswered(at=self._engine.clock(), question=question, option=option, by=by)
        state = await self._governing.tell(lambda _state: [fact])
        found: list[GovernorQuestion | GovernorSettled] = [*state.questions, *state.settled]
        return next(one for one in found if one.id == question)

    async def details(self, question: GovernorQuestion) -> list[str]:
        """The sessions that a question is about, one per line: how often they were restarted, how agents ended."""
        found = []
        for name, times in Counter(question.sessions).items():
            if not await self._engine.knows(name):
                continue
            session = await self._engine.load(name)
            ends = dict.fromkeys(one.how_ended for one in session.attempts if one.how_ended)
            how = "; ".join(ends) or "nobody knows how its agents ended"
            found.append(f"{name}: restarted {times} time{'s'[: times != 1]}; {how}; rekindle logs {name}")
        return found

    def governed(self, session: Session, view: SessionView) -> SessionView:
        """A session as it is shown, with what keeps it from going on by itself."""
        found = self._governing.foresee(session, plan(session, self._engine.clock()))
        if found.is_granted:
            return view
        return replace(view, **_held_up(view, found))

    def is_stopped(self, session: Session) -> bool:
        """Whether a session does not go on until a person has answered a question about all of them."""
        found = self._governing.foresee(session, plan(session, self._engine.clock()))
        return not found.is_granted and bool(found.question)

    def _places(self, now: float) -> PlacesView:
        """Who is at work, and what the others wait for."""
        placing = self._governing.placing
        census, room, reading = placing.census(), placing.room, placing.reading
        line = [one.session for one in sorted(census.waiting, key=lambda one: one.order(now))]
        others = [one for one in self._engine.at_hand() if one.id not in census.at_work and one.id not in line]
        return PlacesView(
            len(census.at_work),
            room.most if room is not None else None,
            room.why if room is not None else "",
            line,
            sum(waits_until(one, now) is not None for one in others),
            sum(one.escalation is not None or any(not asked.answered for asked in one.permissions) for one in others),
            reading.memory if reading is not None else None,
            reading.available if reading is not None else None,
            placing.shortage,
        )

    def _queues(self, state: Governor, now: float) -> list[QueueView]:
        sessions = self._engine.at_hand()
        limits = {one.limit for session in sessions for one in session.sendable if one.limit}
        found = []
        for limit in sorted(limits):
            waiting = waiting_for(limit, sessions, state, {one.id for one in sessions})
            times = schedule(state, self._governing.rules, waiting, now)
            found.append(QueueView(limit, sorted(times.items(), key=lambda one: one[1])))
        return [one for one in found if one.sessions]


def _held_up(view: SessionView, found: Admission) -> dict[str, Any]:
    why = "; ".join(one for one in (view.why, found.why) if one)
    changed: dict[str, Any] = {"waits_until": found.until or view.waits_until, "why": why}
    if found.question:
        changed |= {"needs_you": True, "next": f"rekindle answer {found.question}"}
    return changed
