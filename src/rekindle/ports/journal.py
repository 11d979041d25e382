"""The journal as the rest of rekindle sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from rekindle.core.journal.event import Event, is_synced_at_once
from rekindle.core.journal.fold import JournalState


class Sync(Enum):
    """When an event has to be on disk.

    `ALWAYS`: before `append` returns. `BATCHED`: with the next synced event, or when `flush` or `close` is called, and
    only then is it acknowledged. `NONE`: whenever the system gets to it.
    """

    ALWAYS = "always"
    BATCHED = "batched"
    NONE = "none"


def default_sync(type_: str) -> Sync:
    """The policy of an event type if nobody chose one."""
    return Sync.ALWAYS if is_synced_at_once(type_) else Sync.BATCHED


@dataclass(frozen=True)
class NewEvent:
    """An event that is not in the journal yet. `event_id` makes a second append of it a no-op.

    `by_agent`: an agent asked for it, so a plan in it is data and not an order, and in a run that rekindle drives
    everything that it decides is a claim. `on_record`: it is written only if it can be told from a forged one.
    """

    type: str
    data: dict[str, Any] = field(default_factory=dict)
    agent: str | None = None
    pane_id: str | None = None
    event_id: str | None = None
    by_agent: bool = False
    on_record: bool = False


@dataclass(frozen=True)
class Appended:
    """Where an event went. `written` is False if its id was already in the journal. `claimed`: as a claim only."""

    sid: str | None
    seq: int | None
    written: bool = True
    claimed: bool = False


class Journal(Protocol):
    """One feature's journal.

    `append` returns after the event is on disk as its policy asks; it blocks for the lock of other writers and
    raises JournalError if the event was not written; then the journal is still whole. It cannot be cancelled.
    """

    def append(self, event: NewEvent, *, sid: str | None, fresh: bool = False, sync: Sync | None = None) -> Appended:
        """Append to the run `sid`; with None, to the newest open run or, if there is none, to no run."""
        ...

    def knows(self, event_id: str) -> bool:
        """Whether an event with this id is in the journal."""
        ...

    def flush(self) -> None:
        """Put every event appended so far on disk."""
        ...

    def state(self) -> JournalState:
        """Everything that the journal says now. A missing journal is an empty one."""
        ...

    def proven(self) -> JournalState:
        """The same, but in runs that rekindle drives only rekindle's word counts; `disowned` are the other lines."""
        ...

    def own(self) -> list[Event]:
        """What rekindle wrote itself in the runs that it drives, and what decides something there, in order."""
        ...

    def close(self) -> None:
        """Put everything that is still pending on disk, and release the file."""
        ...
