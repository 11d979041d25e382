"""Journals by their paths. See `rekindle.ports.journal_files.JournalFiles`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from rekindle import files
from rekindle.adapters.journal_file import blocks, repair
from rekindle.adapters.journal_file.ledger import Ledger
from rekindle.adapters.journal_file.read import read_state
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.fold import JournalState
from rekindle.ports.errors import NoSuchFeature
from rekindle.ports.journal_files import JournalVerdict

_PAUSE = 0.15


class JournalFilesHere:
    """The journals that this user can name. What our appender wrote is on record in `state_dir`."""

    def __init__(self, state_dir: str, cache_dir: str) -> None:
        self._state_dir = state_dir
        self._cache = Path(cache_dir, "journals")

    def place_of(self, path: str) -> Path:
        """The journal at a path that a person gave: the file, or the one in that folder."""
        found = Path(path, files.EVENTS) if os.path.isdir(path) else Path(path)
        if "\0" in path or not found.exists():
            raise NoSuchFeature(f"{path}: there is no such journal", "give a feature's name or a journal's path")
        return found

    def state(self, path: Path) -> JournalState:
        """What the journal at a path says."""
        try:
            return read_state(path, SnapshotCache(self._cache), follow=True)
        except OSError as error:
            raise NoSuchFeature(
                f"{path}: cannot be read ({error.strerror})", "give the path of an events.jsonl"
            ) from error

    def verify(self, path: Path) -> JournalVerdict:
        """Look at every line."""
        return repair.verify(path, Ledger(self._state_dir, str(path)))

    def repair(self, path: Path) -> tuple[JournalVerdict, Path | None]:
        """Take unreadable lines out."""
        return repair.repair(path)

    def grow(self, path: Path, lines: int, *, once: bool) -> Iterator[bytes]:
        """The last lines of a file, then (unless `once`) every line added; a new file is read from its start."""
        fd = files.open_to_read(path)
        try:
            status = os.fstat(fd)
            newest, offset = _last(fd, status.st_size, lines)
            yield from newest
            while not once:
                size = os.fstat(fd).st_size
                if size < offset:
                    offset = 0
                for block, behind in blocks.forward(fd, offset, size):
                    if block.endswith(b"\n"):
                        yield from block[:-1].split(b"\n")
                        offset = behind
                try:
                    replaced = os.stat(path).st_ino != status.st_ino
                except FileNotFoundError:
                    replaced = False
                if replaced:
                    os.close(fd)
                    fd = files.open_to_read(path)
                    status, offset = os.fstat(fd), 0
                    continue
                time.sleep(_PAUSE)
        finally:
            os.close(fd)


def _last(fd: int, size: int, lines: int) -> tuple[list[bytes], int]:
    """The last whole lines of a file, and the offset behind them."""
    newest: list[bytes] = []
    rest = b""
    for index, line in enumerate(blocks.backward(fd, size)):
        if index == 0:
            rest = line
        elif len(newest) < lines:
            newest.append(line)
        else:
            break
    return newest[::-1], size - len(rest)
