"""Room that sessions take, and what of it may be given back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec

from rekindle.core.session.state import Session


class RemovableItem(msgspec.Struct, frozen=True):
    """Something that may go. `size` is the room that it takes. "room": reserved for a dead attempt, and never used."""

    session: str
    what: Literal["room", "spool", "edition", "original", "session"]
    path: str
    size: int
    changed_at: float
    why: str


class KeptItem(msgspec.Struct, frozen=True):
    """Something that is kept, and why."""

    session: str
    path: str
    why: str


class RoomSurvey(msgspec.Struct, frozen=True):
    """`total` is the room that all sessions take now."""

    items: tuple[RemovableItem, ...]
    kept: tuple[KeptItem, ...]
    total: int


class Retention(Protocol):
    """What may go is only what the vault has a whole and checked copy of, and room that holds nothing."""

    def survey(self, sessions: Iterable[Session], now: float, older_than: float | None = None) -> RoomSurvey:
        """Look at all sessions. `older_than` days is needed for replaced originals, and for whole sessions."""
        ...

    def complete(self, session: Session) -> None:
        """Copy what the attempts that are over have said, as far as the vault lacks it. Raises OwnedError, OSError."""
        ...

    def remove(self, items: Sequence[RemovableItem]) -> tuple[list[RemovableItem], list[KeptItem]]:
        """Remove what may still go, looked at once more. Returns what went, and what did not."""
        ...
