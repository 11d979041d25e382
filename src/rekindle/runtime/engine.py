"""The loop's memory: appends facts, folds them, and says what is due. Its only side effect is on the store.

A session is changed by one writer at a time, and what is in memory is on disk. Memory holds the sessions that need
the daemon and those that were asked for; any other is read on demand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from rekindle.core.effects import Effect
from rekindle.core.session.activity import needs_daemon
from rekindle.core.session.facts import AnyFact, ClockSet, Created
from rekindle.core.session.plan import plan
from rekindle.core.session.react import take, taken
from rekindle.core.session.rules import BUILT_IN, Rules
from rekindle.core.session.state import Session
from rekindle.core.streams import SESSION
from rekindle.ports.store import Recorded, Store, StoreAccess, StoreChange, StoreError, of_session
from rekindle.runtime.clock_watch import ClockWatch
from rekindle.runtime.outbox import journal_entries
from rekindle.runtime.turns import Turns

#: Called with a session's new state and the facts behind it, as they are recorded.
Listener = Callable[[Session, Sequence[Recorded]], None]
#: The run of a session's feature that is under way, if any.
RunOf = Callable[[Session], str | None]
#: What to record about a session, given its current state.
Decision = Callable[[Session], Sequence[AnyFact]]
Made = TypeVar("Made")


class Engine:
    """Sessions as the store has them. Every change goes through `record`."""

    def __init__(
        self,
        store: StoreAccess,
        clock: Callable[[], float],
        rules: Rules = BUILT_IN,
        steady: Callable[[], float] | None = None,
    ) -> None:
        """`rules` are for new sessions. Existing ones have their own. `steady`: see `ClockWatch`."""
        self.store = store
        self.clock = clock
        self.steady = steady
        self._watch = ClockWatch(clock, steady)
        self._rules = rules
        self._memory: dict[str, Session] = {}
        self._turns = Turns()
        #: sessions whose last commit failed, what it would have made, and the clocks' reading before it: it may have
        #: succeeded after all
        self._doubtful: dict[str, tuple[StoreChange, float]] = {}
        self._settled: dict[str, None] = {}
        self._pending: set[asyncio.Future[Any]] = set()
        self.listeners: list[Listener] = []
        self.run_of: RunOf = lambda _session: None

    async def open(self) -> None:
        """Load the sessions that need the daemon."""
        for session in await self.store.ask(lambda store: store.sessions(attended=True)):
            self._take_in(session)

    async def close(self) -> None:
        """Wait until everything started is on disk."""
        while self._pending:
            await asyncio.wait(list(self._pending))

    def at_hand(self) -> list[Session]:
        """The sessions in memory: all those that need the daemon, and some that do not."""
        return list(self._memory.values())

    def session(self, session: str) -> Session:
        """A session that is attended to, and so is in memory. KeyError if it is not."""
        return self._memory[session]

    def in_memory(self, session: str) -> Session | None:
        """A session, if it is in memory."""
        return self._memory.get(session)

    async def all_sessions(self) -> list[Session]:
        """All sessions, oldest first."""
        return await self.store.ask(lambda store: store.sessions())

    async def named(self, prefix: str) -> list[str]:
        """The ids of all sessions that begin with `prefix`."""
        return await self.store.ask(lambda store: store.named(prefix))

    async def load(self, session: str) -> Session:
        """One session, from memory or from the store. KeyError if there is none."""
        if session not in self._memory:
            found = await self.store.ask(lambda store: store.session(session))
            if found is None:
                raise KeyError(session)
            self._take_in(found)
        return self._memory[session]

    async def knows(self, session: str) -> bool:
        """Whether there is such a session."""
        return session in self._memory or bool(await self.store.ask(lambda store: store.session(session)))

    async def where(self, session: str) -> str | None:
        """The repository that a session is in; None if unknown."""
        found = self._memory.get(session) or await self.store.ask(lambda store: store.session(session))
        return found.repository if found is not None else None

    async def load_feature(self, repository: str, feature: str) -> None:
        """Load all sessions of a feature into memory. They stay there while `run_of` names a run of it."""

        def of_feature(store: Store) -> list[Session]:
            return [one for one in store.sessions(feature=feature) if one.repository == repository]

        for session in await self.store.ask(of_feature):
            self._take_in(session)

    def _take_in(self, session: Session) -> None:
        if session.id not in self._memory:
            self._memory[session.id] = session
            self._watch.read(session.id, session.changed_at)

    def forget(self, session: str) -> None:
        """Drop a session that has no attendant from memory. It is read again on demand."""
        found = self._memory.get(session)
        if found is None or self._turns.is_wanted(session) or needs_daemon(found) or self.run_of(found) is not None:
            return
        del self._memory[session]
        self._watch.forget(session)

    def let_go(self, session: str) -> None:
        """Drop a session that another host has: nothing here decides about it any more."""
        self._memory.pop(session, None)
        self._doubtful.pop(session, None)
        self._watch.forget(session)

    async def create(self, fact: Created) -> Session:
        """Begin a session."""
        return await self._unbroken(self._create(fact))

    async def adopt(self, facts: Sequence[AnyFact]) -> Session:
        """Import a session with its history. Its journal entries were already written elsewhere."""
        now = SESSION.folded(facts)
        assert now is not None
        return await self._unbroken(self._adopt(of_session(now, facts, generation=now.generation)))

    async def arrive(self, before: Session, facts: Sequence[AnyFact]) -> Session:
        """Continue with a session that another host had. `before` is how the store has it."""
        return await self._unbroken(self._arrive(before, facts))

    async def record(self, session: str, *facts: AnyFact) -> Session:
        """Append facts and all that follows from them. Facts that change nothing (repeated or late) are dropped."""
        return await self.decide(session, lambda _now: facts)

    async def decide(self, session: str, decision: Decision) -> Session:
        """The same, with facts decided from the session's state when its turn comes: nobody changes it in between.

        If `decision` raises, the error is passed on and nothing is recorded.
        """
        found = await self._unbroken(self._decided(session, decision))
        assert found is not None
        return found

    async def record_if(self, session: str, holds: Callable[[Session], bool], *facts: AnyFact) -> Session | None:
        """The same, if the session is in the required state when its turn comes; None if not."""
        return await self._unbroken(self._decided(session, lambda now: facts if holds(now) else None))

    def due(self, session: str) -> list[Effect]:
        """What has to be done now about a session in memory."""
        return plan(self._memory[session], self.clock())

    def is_clock_set(self, session: str) -> bool:
        """Whether the clock was set since the deadlines of a session in memory were right."""
        found = self._memory.get(session)
        return found is not None and self._watch.set_by(session, found.changed_at) != 0.0

    async def _create(self, fact: Created) -> Session:
        async with self._turns.of(fact.session):
            now, facts = take(None, fact, self._rules)
            return await self._commit(self._change(now, facts, 0), self._watch.reading())

    async def _adopt(self, change: StoreChange) -> Session:
        async with self._turns.of(change.subject):
            return await self._commit(change, self._watch.reading())

    async def _arrive(self, before: Session, facts: Sequence[AnyFact]) -> Session:
        async with self._turns.of(before.id):
            now, kept = taken(before, facts, self._rules)
            return await self._commit(self._change(now, kept, before.generation), self._watch.reading())

    async def _decided(self, session: str, decision: Callable[[Session], Sequence[AnyFact] | None]) -> Session | None:
        async with self._turns.of(session):
            if session in self._doubtful:
                await self._read_again(session)
            before = await self.load(session)
            facts = decision(before)
            if facts is None:
                return None
            reading = self._watch.reading()
            if by := self._watch.set_by(session, before.changed_at):
                facts = [ClockSet(at=self.clock(), by=by, number=before.clock_sets + 1), *facts]
            now, kept = taken(before, facts, self._rules)
            # The generation that we knew, not the one that we make: a writer that was overtaken is refused.
            if kept:
                return await self._commit(self._change(now, kept, before.generation), reading)
            self._watch.is_right(session, reading)
            return before

    def _change(self, now: Session, facts: Sequence[AnyFact], generation: int) -> StoreChange:
        return of_session(now, facts, generation=generation, outbox=journal_entries(now, facts, self.run_of(now)))

    async def _commit(self, change: StoreChange, reading: float) -> Session:
        assert change.session is not None
        try:
            recorded = await self.store.commit(change)
        except StoreError:
            self._doubtful[change.subject] = (change, reading)
            raise
        return self._is_made(change.session, recorded, reading)

    def _is_made(self, session: Session, recorded: Sequence[Recorded], reading: float) -> Session:
        """A change is on disk: everybody hears of it."""
        self._memory[session.id] = session
        self._watch.is_right(session.id, reading)
        for listener in self.listeners:
            listener(session, recorded)
        return session

    async def settle_doubts(self) -> list[str]:
        """Check for each failed commit whether it was made after all; returns those in memory now.

        They may need work: the caller was told that it could not be recorded, and left.
        """
        for session in list(self._doubtful):
            await self.settle(session)
        settled, self._settled = self._settled, {}
        return [session for session in settled if session in self._memory]

    async def settle(self, session: str) -> None:
        """The same for one session, if its last commit failed."""
        if session in self._doubtful:
            async with self._turns.of(session):
                if session in self._doubtful:
                    await self._read_again(session)

    async def _read_again(self, session: str) -> None:
        """Check whether a failed commit was made after all. Another writer's changes are not adopted."""
        change, reading = self._doubtful[session]

        def stored(store: Store) -> tuple[Session | None, list[Recorded]]:
            newest = store.facts(SESSION.kind, session, limit=len(change.facts), newest=True)
            return store.session(session), newest[::-1]

        found, recorded = await self.store.ask(stored)
        self._doubtful.pop(session, None)
        self._settled[session] = None  # whoever reads it now may have nothing to add, and leave what is due undone
        if found is not None and found == change.session:
            self._is_made(found, recorded, reading)

    async def _unbroken(self, work: Coroutine[Any, Any, Made]) -> Made:
        """Finish it even if the caller goes away: memory and store must stay in step."""
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        return await asyncio.shield(task)
