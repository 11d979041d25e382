"""The loop's memory: appends facts, folds them, and says what is due. Synchronous, without any effect of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rekindle.core.effects import Effect
from rekindle.core.receipt import receipt
from rekindle.core.session.facts import AnyFact, Created, ReceiptWritten
from rekindle.core.session.machine import evolve
from rekindle.core.session.plan import plan
from rekindle.core.session.state import Session
from rekindle.ports.store import Store
from rekindle.runtime.outbox import journal_entries

Listener = Callable[[Session], None]
#: The run of a session's feature that is under way, if any.
RunOf = Callable[[Session], str | None]


class Engine:
    """Sessions as the store has them. Every change goes through `record`."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self.clock = clock
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
        return self._commit(None, [fact])

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

    def record(
        self,
        session: str,
        *facts: AnyFact,
    ) -> Session:
        """Append facts and fold them. Facts that change nothing (told twice, or too late) are not appended."""
        before = self._sessions[session]
        kept: list[AnyFact] = []
        now = before
        for fact in facts:
            after = evolve(now, fact)
            if after != now:
                kept.append(fact)
                proof = receipt(now, fact)
                if proof is not None and now.attempt is not None:
                    written = ReceiptWritten(at=fact.at, attempt=now.attempt.number, receipt=proof)
                    kept.append(written)
                    after = evolve(after, written)
            now = after
        return self._commit(before, kept) if kept else before

    def due(self, session: str) -> list[Effect]:
        """What has to be done now."""
        return plan(self._sessions[session], self.clock())

    def _commit(
        self,
        before: Session | None,
        facts: Sequence[AnyFact],
    ) -> Session:
        now = before
        for fact in facts:
            now = evolve(now, fact)
        assert now is not None
        outbox = journal_entries(now, facts, self.run_of(now))
        # The generation that we knew, not the one that we make: whoever has been overtaken is refused.
        generation = before.generation if before is not None else 0
        self._store.commit(now, facts, generation=generation, outbox=outbox)
        self._sessions[now.id] = now
        for listener in self.listeners:
            listener(now)
        return now
