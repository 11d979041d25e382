"""Which bytes of a transcript are records, whatever happened to the file.

A process that dies while it writes leaves a torn line, and the next one glues its first record to it; a machine that
dies leaves NUL bytes. Reading and repairing have to agree on what is left, so both begin here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from rekindle.agents.lenient import parse

#: Every record has one of these; no object inside of a record has one of them together with a type.
_IDENTITIES: Final = ("uuid", "sessionId", "leafUuid", "messageId")
_DECODER: Final = json.JSONDecoder()


class Kept(msgspec.Struct, frozen=True):
    """A record, and the bytes that it was read from."""

    data: bytes
    record: dict[str, Any]


class Line(msgspec.Struct, frozen=True):
    """A line as it is, with its newline if it has one, and its records. Without a problem it is fine as it is."""

    raw: bytes
    kept: tuple[Kept, ...]
    problem: str | None


def lines(data: bytes) -> Iterator[Line]:
    """Every line of a file, with what can be read of it."""
    *ended, last = data.split(b"\n")
    for number, line in enumerate(ended, start=1):
        yield _line(number, line, b"\n")
    if last:
        yield _line(len(ended) + 1, last, b"")


def _line(number: int, line: bytes, newline: bytes) -> Line:
    nuls = line.count(0)
    clean = line.replace(b"\0", b"")
    kept = _records(clean)
    lost = len(clean) - sum(len(one.data) for one in kept) if clean.strip() else 0
    wrong = [_number(nuls, "NUL byte")] if nuls else []
    if len(kept) > 1:
        wrong.append(f"{len(kept)} records in one line")
    if lost:
        wrong.append(f"{_number(lost, 'byte')} {_kind(whole=bool(kept), ended=bool(newline))}")
    elif not newline and not nuls:
        wrong.append("no newline at its end")
    return Line(line + newline, kept, f"line {number}: {', '.join(wrong)}" if wrong else None)


def _kind(*, whole: bool, ended: bool) -> str:
    """What bytes are that belong to no record."""
    if whole:
        return "of a torn record, with a whole one glued to them"
    return "that cannot be read" if ended else "of a torn record"


def _number(count: int, of: str) -> str:
    return f"{count} {of}{'' if count == 1 else 's'}"


def _records(line: bytes) -> tuple[Kept, ...]:
    if not line.strip():
        return ()
    whole = parse(line)
    return (Kept(line, whole),) if isinstance(whole, dict) else tuple(_glued(line.decode("utf-8", "surrogateescape")))


def _glued(text: str) -> Iterator[Kept]:
    """The whole records in a line that is not one.

    The objects inside of a torn record can be whole too: those are passed over, they are no records.
    """
    at = 0
    while (start := text.find('{"', at)) >= 0:
        try:
            _, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        data = text[start:at].encode("utf-8", "surrogateescape")
        record = parse(data)
        if isinstance(record.get("type"), str) and any(key in record for key in _IDENTITIES):
            yield Kept(data, record)
