"""Verifies a journal line by line, and rewrites a damaged one without its unreadable lines, the original kept."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rekindle.adapters.journal_file import blocks
from rekindle.core.journal.decode import BLANK, MALFORMED, UNKNOWN_VERSION, decode_line
from rekindle.ports.errors import JournalError

Damage = tuple[int, int, str]
"""Line number, offset, what is wrong."""


@dataclass(frozen=True)
class Verdict:
    """What `verify` found. A torn tail is normal after a crash: the next append closes it."""

    lines: int
    events: int
    damaged: tuple[Damage, ...]
    unknown_version: tuple[int, ...]
    torn_tail: bool
    byte_order_mark: bool

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing that `repair` would change."""
        return not self.damaged and not self.torn_tail and not self.byte_order_mark


def verify(path: Path) -> Verdict:
    """Look at every line. Reads only."""
    fd = _open(path)
    try:
        return _verify(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


def repair(path: Path) -> tuple[Verdict, Path | None]:
    """Take unreadable lines out. The damaged original stays beside the journal; None if there was nothing to do.

    Holds the journal's lock, so that no writer appends to the file that is about to be replaced.
    """
    fd = _open(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        size = os.fstat(fd).st_size
        verdict = _verify(fd, size)
        if verdict.is_whole:
            return verdict, None
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        kept = _free_name(path.with_name(f"{path.name}.damaged-{stamp}"))
        fresh = path.with_name(f"{path.name}.repaired-{os.getpid()}")
        with open(fresh, "xb") as target:
            os.fchmod(target.fileno(), os.fstat(fd).st_mode & 0o777)
            for line, _ in _lines(fd, size):
                if decode_line(line) is not MALFORMED:
                    target.write(line + b"\n")
            target.flush()
            os.fsync(target.fileno())
        os.link(path, kept)
        os.replace(fresh, path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return verdict, kept
    except OSError as error:
        raise JournalError(
            f"{path}: cannot be repaired ({error.strerror}); nothing was changed",
            "check room and permissions",
        ) from error
    finally:
        os.close(fd)


def _verify(fd: int, size: int) -> Verdict:
    damaged: list[Damage] = []
    unknown: list[int] = []
    number = events = 0
    torn = False
    for number, (line, offset) in enumerate(_lines(fd, size), start=1):
        decoded = decode_line(line)
        torn = offset + len(line) >= size
        if decoded is MALFORMED:
            damaged.append((number, offset, _what_is_wrong(line)))
        elif decoded is UNKNOWN_VERSION:
            unknown.append(number)
        elif decoded is not BLANK:
            events += 1
    mark = os.pread(fd, 3, 0) == b"\xef\xbb\xbf"
    return Verdict(number, events, tuple(damaged), tuple(unknown), torn, mark)


def _lines(fd: int, size: int) -> Iterator[tuple[bytes, int]]:
    for block, behind in blocks.forward(fd, 0, size):
        offset = behind - len(block)
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for line in lines:
            yield line, offset
            offset += len(line) + 1


def _what_is_wrong(line: bytes) -> str:
    if b"\0" in line:
        return "has NUL bytes in it"
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8"
    if not line.rstrip().endswith(b"}"):
        return "is cut off or no JSON object"
    return "is no JSON object with a text `type` and, if any, a whole `seq`"


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise JournalError(f"{path}: cannot be opened ({error.strerror})", "check its path and permissions") from error


def _free_name(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate
