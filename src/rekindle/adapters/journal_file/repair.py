"""Verifies a journal by the rules it is read by; rewrites a damaged one without its bad lines, the original kept."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rekindle import files
from rekindle.adapters.journal_file import blocks, lock
from rekindle.adapters.journal_file.ledger import Ledger
from rekindle.adapters.journal_file.proven import told_apart
from rekindle.core.journal.decode import BLANK, MALFORMED, UNKNOWN_VERSION, decode_line
from rekindle.core.journal.rules import Problem, problems
from rekindle.core.journal.run import Disowned
from rekindle.ports.errors import JournalError
from rekindle.ports.journal_files import Damage, JournalVerdict


def verify(path: Path, ledger: Ledger | None = None) -> JournalVerdict:
    """Look at every line. Reads only. By a ledger, lines are found that others slipped into runs of ours."""
    fd = _open(path)
    try:
        size = os.fstat(fd).st_size
        lines = (line for line, _ in _lines(fd, size))
        decoded, forged = told_apart(lines, ledger) if ledger is not None else ([decode_line(one) for one in lines], [])
        return msgspec.structs.replace(
            _verify(fd, size), problems=tuple(sorted([*problems(decoded), *map(_forged, forged)]))
        )
    finally:
        os.close(fd)


def repair(path: Path, *, lock_seconds: float = 30.0) -> tuple[JournalVerdict, Path | None]:
    """Take unreadable lines out. The damaged original stays beside the journal; None if there was nothing to do.

    Holds the lock of the old file and, before it is in its place, of the new one, until the folder is on disk: no event
    can be acknowledged in a file that a power loss could still take away.
    """
    try:
        fd, _ = lock.open_locked(str(path), _open(path), lock_seconds)
    except lock.AppendError as error:
        raise JournalError(error.message, error.hint, code=error.code) from error
    fresh = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    target = -1
    try:
        verdict = _verify(fd, os.fstat(fd).st_size)
        if verdict.is_whole:
            return verdict, None
        kept = _free_name(path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"))
        target = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        fcntl.flock(target, fcntl.LOCK_EX)
        _copy_whole_lines(fd, target)
        status = os.fstat(fd)
        os.fchown(target, status.st_uid, status.st_gid)
        os.fchmod(target, status.st_mode & 0o777)
        os.fsync(target)
        os.link(path, kept)
        os.replace(fresh, path)
        files.sync_folder(str(path.parent))
        return verdict, kept
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise JournalError(
            f"{path}: the repair failed ({error.strerror}); no event is lost", "check room and permissions"
        ) from error
    finally:
        os.close(fd)
        if target >= 0:
            os.close(target)


def _forged(one: Disowned) -> Problem:
    if one.intruder:
        told = f"{one.type} is of run {one.sid}, which was not begun here and interferes with a run of rekindle's"
        return Problem(one.line, "forged", f"{told}: it is not used (to use it: --trust {one.intruder[:12]})")
    of = f"run {one.sid}" if one.sid is not None else "the run that is open here"
    return Problem(one.line, "forged", f"{one.type} is of {of}, which did not write it: it is not used")


def _copy_whole_lines(source: int, target: int) -> None:
    with os.fdopen(os.dup(target), "ab") as file:
        for line, _ in _lines(source, os.fstat(source).st_size):
            if decode_line(line) is not MALFORMED:
                file.write(line + b"\n")


def _verify(fd: int, size: int) -> JournalVerdict:
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
    return JournalVerdict(number, events, tuple(damaged), tuple(unknown), torn, mark)


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
        return files.open_to_read(path)
    except OSError as error:
        raise JournalError(f"{path}: cannot be opened ({error.strerror})", "check its path and permissions") from error


def _free_name(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate
