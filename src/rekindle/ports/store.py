"""The store: streams of facts, by kind, and the sessions that their facts lead to.

Facts and the rows that follow from them change together or not at all. The kinds of streams are in `core.streams`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from rekindle.core.fact import Fact
from rekindle.core.session.state import Session
from rekindle.core.streams import SESSION, StreamKind
from rekindle.ports.errors import OwnedError, RekindleError

Found = TypeVar("Found")


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
    """The store dates from before facts were complete."""

    code = "older_schema"


class DamagedStore(StoreError):
    """The store's file is damaged; it was set aside."""

    code = "damaged_store"


@dataclass(frozen=True)
class Recorded:
    """A fact in the store, with its place in the sequence of all facts, and its subject."""

    seq: int
    stream: StreamKind
    subject: str
    fact: Fact


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


@dataclass(frozen=True)
class StoreChange:
    """Facts about one subject that are recorded together, with all that follows from them.

    In the stream of sessions, `session` is the state that the facts lead to, and `generation` is the writer's.
    """

    stream: StreamKind
    subject: str
    facts: Sequence[Fact]
    session: Session | None = None
    generation: int = 0
    outbox: Sequence[OutboxEntry] = ()


def of_session(
    session: Session, facts: Sequence[Fact], *, generation: int, outbox: Sequence[OutboxEntry] = ()
) -> StoreChange:
    """The session that the facts have led to."""
    return StoreChange(SESSION.kind, session.id, facts, session, generation, outbox)


class Store(Protocol):
    """Blocking and not thread-safe: one owner (the daemon) at a time. Readers use their own connection.

    A commit is on disk when it returns.
    """

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        """Make each change as a whole, in order, and sync once. Returns, for each, the facts as recorded.

        A session whose stored generation is higher than the writer's is left as it is, and the answer is the error.
        Anything else that goes wrong is raised. A StoreError leaves open whether the changes were made (all of them, or
        none): the store may have been lost right after them. After any other error none of them was made.
        """
        ...

    def session(self, session: str) -> Session | None:
        """One session, or None."""
        ...

    def sessions(self, *, attended: bool = False, feature: str | None = None) -> list[Session]:
        """All sessions, oldest first.

        With `attended` only those that need the daemon (see `core.session.activity`), with `feature` only those of a
        feature of that name, in any repository.
        """
        ...

    def renew(self) -> int:
        """Rebuild what is stored about each session besides its facts and itself. Returns how many sessions changed."""
        ...

    def named(self, prefix: str) -> list[str]:
        """The ids of sessions that begin with `prefix`."""
        ...

    def facts(
        self,
        stream: StreamKind | None = None,
        subject: str | None = None,
        *,
        kinds: Collection[str] | None = None,
        after: int = 0,
        limit: int = 1000,
        newest: bool = False,
    ) -> list[Recorded]:
        """Facts in order after a sequence number: of all streams, of one, or of one subject.

        With `kinds` only those whose own names (see `core.streams.kind_of`) are among them. With `newest` the order is
        reversed, so that `limit` leaves the last ones.
        """
        ...

    def outbox(self, limit: int = 100) -> list[OutboxEntry]:
        """Events that are not known to be in their journals yet, oldest first."""
        ...

    def settle(self, ids: Sequence[str]) -> None:
        """These events are in their journals."""
        ...

    def stay_in_place(self) -> bool:
        """Make sure that what is committed is where the next daemon looks. Returns whether it had to be put back."""
        ...

    def close(self) -> None:
        """Release the store."""
        ...


class StoreAccess(Protocol):
    """A store for callers that must not wait for a disk: everything is awaited, and done in the order of the calls."""

    async def commit(self, change: StoreChange) -> list[Recorded]:
        """Make a change. It is on disk when this returns. Raises StaleGeneration and StoreError.

        If you are cancelled while waiting, you do not know whether the change was made.
        """
        ...

    async def ask(self, question: Callable[[Store], Found]) -> Found:
        """What the store answers to a question."""
        ...


def commit_one(store: Store, change: StoreChange) -> list[Recorded]:
    """Make one change. Raises StaleGeneration if `commit` answers with it."""
    (made,) = store.commit([change])
    if isinstance(made, StaleGeneration):
        raise made
    return made
