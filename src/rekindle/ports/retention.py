"""The disk space that sessions use, and what can be freed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec

from rekindle.core.session.state import Session


class RemovableItem(msgspec.Struct, frozen=True):
    """Something that may go. `size` is the space that it uses. "room": reserved for a dead attempt, and never used."""

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
    """`total` is the space that all sessions use now."""

    items: tuple[RemovableItem, ...]
    kept: tuple[KeptItem, ...]
    total: int


class Retention(Protocol):
    """Only two things may go: what the vault has a whole and checked copy of, and space that holds nothing."""

    def survey(self, sessions: Iterable[Session], now: float, older_than: float | None = None) -> RoomSurvey:
        """Look at all sessions. Replaced originals and whole sessions may go only if `older_than` (days) is given."""
        ...

    def complete(self, session: Session) -> None:
        """Copy the output of finished attempts that the vault lacks. Raises OwnedError, OSError."""
        ...

    def remove(self, items: Sequence[RemovableItem]) -> tuple[list[RemovableItem], list[KeptItem]]:
        """Remove what may still go, after another look. Returns what went, and what did not."""
        ...
