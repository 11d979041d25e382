"""Journals as files that a person names: read in place, verified, repaired, followed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import msgspec

from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.rules import Problem

Damage = tuple[int, int, str]
"""Line number, offset, what is wrong."""


class JournalVerdict(msgspec.Struct, frozen=True):
    """What was found in a journal file. A torn tail is normal after a crash: the next append closes it."""

    lines: int
    events: int
    damaged: tuple[Damage, ...]
    unknown_version: tuple[int, ...]
    torn_tail: bool
    byte_order_mark: bool
    problems: tuple[Problem, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing that a repair would change."""
        return not self.damaged and not self.torn_tail and not self.byte_order_mark

    @property
    def is_sound(self) -> bool:
        """Whether the file is whole, and its content is in order."""
        return self.is_whole and not self.problems


class JournalFiles(Protocol):
    """The files themselves. Raises JournalError, and NoSuchFeature if there is nothing to read."""

    def place_of(self, path: str) -> Path:
        """The journal at a path that a person gave: the file, or the one in that folder."""
        ...

    def state(self, path: Path) -> JournalState:
        """What the journal at a path says; a link there is the user's own."""
        ...

    def verify(self, path: Path) -> JournalVerdict:
        """Check every line. Reads only. Lines that others slipped into our runs are found too."""
        ...

    def repair(self, path: Path) -> tuple[JournalVerdict, Path | None]:
        """Remove unreadable lines. The damaged original is kept next to it; None if there was nothing to do."""
        ...

    def grow(self, path: Path, lines: int, *, once: bool) -> Iterator[bytes]:
        """The last lines of a file, then (unless `once`) every line that is added, as long as the caller reads."""
        ...
