"""Which bytes of a transcript are records, whatever happened to the file.

A process that dies while writing leaves a torn line, and the next process appends its first record to it; a machine
that dies leaves NUL bytes. Reading and repairing must agree on what is left, so both start here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from rekindle.agents.base.lenient import parse
from rekindle.agents.base.transcript import Repaired

#: Whether a complete object in a damaged line is a record: those inside a torn record are not.
IsRecord = Callable[[dict[str, Any]], bool]
_START: Final = re.compile(r'\{"[A-Za-z]\w*":')
_MOST_FAILURES: Final = 1000  # more beginnings without an end than any tear leaves: the line was made to be slow
_DECODER: Final = json.JSONDecoder()


class KeptRecord(msgspec.Struct, frozen=True):
    """A record, and the bytes that it was read from."""

    data: bytes
    record: dict[str, Any]


class TranscriptLine(msgspec.Struct, frozen=True):
    """A line as it is, with its newline if it has one, and its records. Without a problem it is fine as it is."""

    raw: bytes
    kept: tuple[KeptRecord, ...]
    problem: str | None


def lines(data: bytes, is_record: IsRecord) -> Iterator[TranscriptLine]:
    """Every line of a file, with what can be read of it."""
    *ended, last = data.split(b"\n")
    for number, line in enumerate(ended, start=1):
        yield _line(number, line, b"\n", is_record)
    if last:
        yield _line(len(ended) + 1, last, b"", is_record)


def repaired(data: bytes, is_record: IsRecord) -> Repaired:
    """Complete records, one per line; what cannot be read is left out."""
    found = list(lines(data, is_record))
    changes = tuple(f"{line.problem}: {_remedy(line)}" for line in found if line.problem)
    return Repaired(b"".join(map(_mended, found)), changes) if changes else Repaired(data, ())


def _mended(line: TranscriptLine) -> bytes:
    return b"".join(kept.data + b"\n" for kept in line.kept) if line.problem else line.raw


def _remedy(line: TranscriptLine) -> str:
    if not line.kept:
        return "left out"
    return "written as a line of its own" if len(line.kept) == 1 else "written as lines of their own"


def _line(number: int, line: bytes, newline: bytes, is_record: IsRecord) -> TranscriptLine:
    nuls = line.count(0)
    clean = line.replace(b"\0", b"")
    kept = _records(clean, is_record)
    lost = len(clean) - sum(len(one.data) for one in kept) if clean.strip() else 0
    wrong = [_number(nuls, "NUL byte")] if nuls else []
    if len(kept) > 1:
        wrong.append(f"{len(kept)} records in one line")
    if lost:
        wrong.append(f"{_number(lost, 'byte')} {_kind(whole=bool(kept), ended=bool(newline))}")
    elif not newline and not nuls:
        wrong.append("no newline at its end")
    return TranscriptLine(line + newline, kept, f"line {number}: {', '.join(wrong)}" if wrong else None)


def _kind(*, whole: bool, ended: bool) -> str:
    """What the bytes are that belong to no record."""
    if whole:
        return "of a torn record, with a whole one glued to them"
    return "that cannot be read" if ended else "of a torn record"


def _number(count: int, of: str) -> str:
    return f"{count} {of}{'' if count == 1 else 's'}"


def _records(line: bytes, is_record: IsRecord) -> tuple[KeptRecord, ...]:
    if not line.strip():
        return ()
    whole = parse(line)
    if isinstance(whole, dict):
        return (KeptRecord(line, whole),)
    return tuple(one for one in _glued(line.decode("utf-8", "surrogateescape")) if is_record(one.record))


def _glued(text: str) -> Iterator[KeptRecord]:
    """The complete objects in a line that is not one itself."""
    at = failures = 0
    while failures < _MOST_FAILURES and (found := _START.search(text, at)):
        try:
            _, at = _DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.start() + 1
            failures += 1
            continue
        data = text[found.start() : at].encode("utf-8", "surrogateescape")
        record = parse(data)
        if isinstance(record, dict):  # not if it is nested too deep
            yield KeptRecord(data, record)
