"""What a block of lines comes down to: everything that a fold needs of it, without the lines that are only counted.

A digest depends on the bytes of its block alone, so any process can make it, and a fold that takes digests in file
order (stream.py) is the fold of the lines. This is a candidate filter: headers are decoded by msgspec without their
data, and any line that it refuses, or that is not plainly the next one of the same run, is kept whole for the
normative decoder.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rekindle.core.journal.decode import MAX_DEPTH, decode_line, may_be_too_deep
from rekindle.core.journal.event import VERSION, Event
from rekindle.core.journal.run_events import changes_state

#: What msgspec may raise on bytes that it rejects.
REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Stretch(msgspec.Struct, array_like=True, gc=False):
    """A line, and how many come after it that plainly continue its run.

    `loud` are those of them that change the state of the run; the others are only counted. `first_ts`, `last_ts` and
    `feature` are what those that follow say of themselves. `sid` and `seq` are where the run stands after `line`, and
    mean nothing if nobody follows.
    """

    line: bytes
    sid: str = ""
    seq: int = -1
    following: int = 0
    loud: list[bytes] = []
    first_ts: str | None = None
    last_ts: str | None = None
    feature: str | None = None


class _Header(msgspec.Struct, gc=False):
    """What shows whether a line is plainly the next one of the current run, and whether it matters."""

    type: str
    sid: str | None = None
    seq: int | None = None
    v: int = VERSION


class _Meta(msgspec.Struct, gc=False):
    feature: str | None = None
    ts: str | None = None


_decode_header = msgspec.json.Decoder(_Header).decode
_decode_meta = msgspec.json.Decoder(_Meta).decode


def digest(block: bytes) -> list[Stretch]:
    """The stretches of a block of whole lines, each ended by a newline."""
    lines = block.split(b"\n")
    if lines.pop():
        raise ValueError("a block ends with a newline")
    if not _is_utf8(block) or _has_deep_line(lines):
        return list(map(Stretch, lines))
    try:
        headers = list(map(_decode_header, lines))
    except REFUSALS:
        return list(map(Stretch, lines))
    return _stretches(lines, headers)


def _stretches(lines: list[bytes], headers: list[_Header]) -> list[Stretch]:
    found: list[Stretch] = []
    sid: str | None = None
    expected: int | None = None  # None: nobody can follow
    first = 0
    loud: list[bytes] = []
    quiet: set[str] = set()
    for index, header in enumerate(headers):
        if header.seq == expected and header.sid == sid and expected is not None and header.v == VERSION:
            expected += 1
            type_ = header.type
            if type_ in quiet:
                continue
            if changes_state(type_):
                loud.append(lines[index])
            else:
                quiet.add(type_)
            continue
        if index:
            found.append(_stretch(lines, first, index, sid, expected, loud))
        first, loud, sid = index, [], header.sid
        is_placed = sid and header.seq is not None and header.seq >= 0 and header.v == VERSION
        expected = header.seq + 1 if is_placed and header.seq is not None else None
    if lines:
        found.append(_stretch(lines, first, len(lines), sid, expected, loud))
    return found


def _stretch(
    lines: list[bytes], first: int, behind: int, sid: str | None, expected: int | None, loud: list[bytes]
) -> Stretch:
    following = behind - first - 1
    if not following or sid is None or expected is None:
        return Stretch(lines[first])
    return Stretch(
        lines[first],
        sid,
        expected - following - 1,
        following,
        loud,
        _first_ts(lines, range(first + 1, behind)),
        _first_ts(lines, range(behind - 1, first, -1)),
        _first_feature(lines, range(behind - 1, first, -1)),
    )


def _first_ts(lines: list[bytes], places: Sequence[int]) -> str | None:
    return next((ts for place in places if (ts := _meta(lines[place]).ts) is not None), None)


def _first_feature(lines: list[bytes], places: Sequence[int]) -> str | None:
    return next((name for place in places if (name := _meta(lines[place]).feature) is not None), None)


def _meta(line: bytes) -> _Meta | Event:
    try:
        return _decode_meta(line)
    except REFUSALS:
        decoded = decode_line(line)
        return decoded if isinstance(decoded, Event) else _Meta()


def _has_deep_line(lines: list[bytes]) -> bool:
    return max(map(len, lines), default=0) > 2 * MAX_DEPTH and any(map(may_be_too_deep, lines))


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
