"""One journal, by its feature's name or by its path: what it says, whether it is intact, and its repair."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from rekindle.core.journal.analysis import Analysis, analyse
from rekindle.ports.journal_files import JournalFiles, JournalVerdict
from rekindle.ports.workspace import RunOwner, Workspace


class Analysed(msgspec.Struct, frozen=True):
    """What a journal says. `owner` holds the newest run; for a path it is not looked up."""

    analysis: Analysis
    owner: RunOwner | None


class Verified(msgspec.Struct, frozen=True):
    """What is wrong with a journal, if anything. `original` is the damaged file that a repair kept."""

    path: Path
    verdict: JournalVerdict
    original: Path | None = None


class JournalCare:
    """Inspects journals. `what` is a feature's name, or a path: it has a slash or ends in .jsonl."""

    def __init__(self, open_here: Callable[[], Workspace], files: JournalFiles) -> None:
        self._open_here = open_here
        self._files = files

    def analyse(self, what: str) -> Analysed:
        """What a journal says, and what a resume would do. For a path, a run that somebody holds counts as open."""
        if _is_path(what):
            return Analysed(analyse(self._files.state(self._files.place_of(what))), None)
        return Analysed(*self._open_here().analysis(what))

    def verify(self, what: str) -> Verified:
        """Check every line by the rules used to read it."""
        path = self._path(what)
        return Verified(path, self._files.verify(path))

    def repair(self, what: str) -> Verified:
        """Take unreadable lines out; the damaged original is kept."""
        path = self._path(what)
        return Verified(path, *self._files.repair(path))

    def _path(self, what: str) -> Path:
        return self._files.place_of(what) if _is_path(what) else self._open_here().existing(what).path


def _is_path(what: str) -> bool:
    return "/" in what or what.endswith(".jsonl")
