"""The loop's memory: appends facts, folds them, and says what is due. Synchronous, without any effect of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rekindle.core.effects import Effect, Launch
from rekindle.core.receipt import receipt
from rekindle.core.session.facts import AnyFact, Created, LaunchIntended, Opened, ReceiptWritten
from rekindle.core.session.machine import Session, evolve
from rekindle.core.session.plan import plan
from rekindle.ports.store import OutboxEntry, Store

Listener = Callable[[Session], None]


class Engine:
    """Sessions as the store has them. Every change goes through `record`."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self.clock = clock
        self._sessions = {session.id: session for session in store.sessions()}
        self.listeners: list[Listener] = []

    def sessions(self) -> list[Session]:
        """All sessions, oldest first."""
        return list(self._sessions.values())

    def session(self, session: str) -> Session:
        """One session. KeyError if there is none."""
        return self._sessions[session]

    def create(self, fact: Created) -> Session:
        """Begin a session."""
        return self._commit(None, [fact], (), None)

    def record(
        self,
        session: str,
        *facts: AnyFact,
        outbox: Sequence[OutboxEntry] = (),
        offsets: Mapping[str, int] | None = None,
    ) -> Session:
        """Append facts and fold them. Facts that change nothing (told twice, or too late) are not appended."""
        before = self._sessions[session]
        kept: list[AnyFact] = []
        now = before
        for fact in facts:
            after = evolve(now, fact)
            if after != now:
                kept.append(fact)
            if isinstance(fact, Opened) and after != now:
                proof = receipt(now, fact)
                if proof is not None:
                    written = ReceiptWritten(at=fact.at, attempt=fact.attempt, receipt=proof)
                    kept.append(written)
                    after = evolve(after, written)
            now = after
        if not kept and not outbox and not offsets:
            return before
        return self._commit(before, kept, outbox, offsets)

    def due(self, session: str) -> list[Effect]:
        """What has to be done now."""
        return plan(self._sessions[session], self.clock())

    def intend(self, effect: Launch) -> Session:
        """Write down that an attempt is about to be started, before it is."""
        session = self._sessions[effect.session]
        return self.record(
            effect.session,
            LaunchIntended(
                at=self.clock(),
                attempt=effect.attempt,
                generation=session.generation + 1,
                how=effect.how,
                token=effect.token,
            ),
        )

    def offsets(self, session: str) -> dict[str, int]:
        """How far the session's spools have been read."""
        return self._store.offsets(session)

    def _commit(
        self,
        before: Session | None,
        facts: Sequence[AnyFact],
        outbox: Sequence[OutboxEntry],
        offsets: Mapping[str, int] | None,
    ) -> Session:
        now = before
        for fact in facts:
            now = evolve(now, fact)
        assert now is not None
        self._store.commit(now, facts, generation=now.generation, outbox=outbox, offsets=offsets)
        self._sessions[now.id] = now
        for listener in self.listeners:
            listener(now)
        return now
