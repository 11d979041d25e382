"""The loop's memory: appends facts, folds them, and says what is due. Synchronous, without any effect of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rekindle.core.effects import Effect
from rekindle.core.session.facts import AnyFact, Created
from rekindle.core.session.machine import evolve
from rekindle.core.session.plan import plan
from rekindle.core.session.react import take, taken
from rekindle.core.session.rules import BUILT_IN, Rules
from rekindle.core.session.state import Session
from rekindle.ports.store import Store
from rekindle.runtime.outbox import journal_entries

Listener = Callable[[Session], None]
#: The run of a session's feature that is under way, if any.
RunOf = Callable[[Session], str | None]


class Engine:
    """Sessions as the store has them. Every change goes through `record`."""

    def __init__(self, store: Store, clock: Callable[[], float], rules: Rules = BUILT_IN) -> None:
        """`rules` are for sessions that begin here. Those that exist have their own."""
        self._store = store
        self.clock = clock
        self._rules = rules
        self._sessions = {session.id: session for session in store.sessions()}
        self.listeners: list[Listener] = []
        self.run_of: RunOf = lambda _session: None

    def sessions(self) -> list[Session]:
        """All sessions, oldest first."""
        return list(self._sessions.values())

    def session(self, session: str) -> Session:
        """One session. KeyError if there is none."""
        return self._sessions[session]

    def where(self, session: str) -> str | None:
        """The repository that a session is in; None if nobody knows."""
        found = self._sessions.get(session)
        return found.repository if found is not None else None

    def create(self, fact: Created) -> Session:
        """Begin a session."""
        now, facts = take(None, fact, self._rules)
        return self._commit(None, now, facts)

    def adopt(self, facts: Sequence[AnyFact]) -> Session:
        """Take in a session with its past. What journals were told of it they were told elsewhere."""
        now: Session | None = None
        for fact in facts:
            now = evolve(now, fact)
        assert now is not None
        self._store.commit(now, facts, generation=now.generation)
        self._sessions[now.id] = now
        for listener in self.listeners:
            listener(now)
        return now

    def record(self, session: str, *facts: AnyFact) -> Session:
        """Append facts, with all that follows from them. What changes nothing (told twice, or too late) is dropped."""
        before = self._sessions[session]
        now, kept = taken(before, facts, self._rules)
        return self._commit(before, now, kept) if kept else before

    def due(self, session: str) -> list[Effect]:
        """What has to be done now."""
        return plan(self._sessions[session], self.clock())

    def _commit(self, before: Session | None, now: Session, facts: Sequence[AnyFact]) -> Session:
        outbox = journal_entries(now, facts, self.run_of(now))
        # The generation that we knew, not the one that we make: whoever has been overtaken is refused.
        generation = before.generation if before is not None else 0
        self._store.commit(now, facts, generation=generation, outbox=outbox)
        self._sessions[now.id] = now
        for listener in self.listeners:
            listener(now)
        return now
