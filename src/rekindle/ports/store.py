"""The store: sessions, and the facts that made them. Facts and rows change together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError, RekindleError


class StaleGeneration(OwnedError):
    """Somebody newer has taken the session over."""

    code = "stale_generation"


class StoreError(RekindleError):
    """The store cannot be used."""

    code = "store"


class NewerSchema(StoreError):
    """The store was written by a newer rekindle."""

    code = "newer_schema"


class OlderSchema(StoreError):
    """The store is from before facts were complete."""

    code = "older_schema"


class DamagedStore(StoreError):
    """The store's file is damaged; it was set aside."""

    code = "damaged_store"


@dataclass(frozen=True)
class Recorded:
    """A fact in the store, with its place in the sequence of all facts."""

    seq: int
    session: str
    fact: AnyFact


@dataclass(frozen=True)
class OutboxEntry:
    """An event of a session that still has to be written to its feature's journal.

    `id` makes writing it twice a no-op. `run` is the run of the feature that was under way when it happened.
    """

    id: str
    repository: str
    feature: str
    type: str
    data: dict[str, Any] = field(default_factory=dict)
    session: str = ""
    run: str | None = None


class Store(Protocol):
    """Blocking and not thread-safe: one owner (the daemon) at a time. Readers use their own connection.

    A commit is on disk when it returns.
    """

    def commit(
        self,
        session: Session,
        facts: Sequence[AnyFact],
        *,
        generation: int,
        outbox: Sequence[OutboxEntry] = (),
        offsets: Mapping[str, int] | None = None,
    ) -> int:
        """Append the facts, put the session as they have made it in its place, and return the last sequence number.

        `generation` is the writer's; one lower than the session's stored generation raises StaleGeneration and changes
        nothing. `offsets` remembers how far spools have been read (name -> bytes), in the same transaction.
        """
        ...

    def session(self, session: str) -> Session | None:
        """One session, or None."""
        ...

    def sessions(self) -> list[Session]:
        """All sessions, oldest first."""
        ...

    def named(self, prefix: str) -> list[str]:
        """The ids that begin with `prefix`."""
        ...

    def facts(self, session: str | None = None, *, after: int = 0, limit: int = 1000) -> list[Recorded]:
        """Facts in order, of one session or of all, behind a sequence number."""
        ...

    def offsets(self, session: str) -> dict[str, int]:
        """How far the session's spools have been read."""
        ...

    def outbox(self, limit: int = 100) -> list[OutboxEntry]:
        """Events that are not known to be in their journals yet, oldest first."""
        ...

    def settle(self, ids: Sequence[str]) -> None:
        """These events are in their journals."""
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...
