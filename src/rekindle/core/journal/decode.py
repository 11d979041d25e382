"""The one normative decoder: which bytes are an event, and if not, why not.

Every faster way to read a journal (stream.py, the writer's head) is a candidate filter: whatever it is unsure of comes
here, and property tests prove that the two agree. Keep this plain; it is the definition. It uses only the standard
library's `json`, and imports that when the first line is decoded: the hook client imports this, and rarely needs it.
"""

from __future__ import annotations

from rekindle.core.journal.event import VERSION, Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecoder
    from typing import Any, NoReturn

BOM = b"\xef\xbb\xbf"
_WHITE = b" \t\r\n"
#: More digits than this are not worth an int (and CPython refuses to make one by default).
_DIGITS = 4000
#: Deeper nesting is not read, so that the verdict on a line never depends on the reader.
MAX_DEPTH = 500


class Blank:
    """An empty line: skipped silently."""


class Malformed:
    """Not JSON, not an object, no text `type`, or a `seq` that is not an integer of 0 or more."""


class UnknownVersion:
    """An envelope from another time. Reported, never used."""


BLANK = Blank()
MALFORMED = Malformed()
UNKNOWN_VERSION = UnknownVersion()

Decoded = Event | Blank | Malformed | UnknownVersion


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float("inf")


_decoder: JSONDecoder | None = None


def _decode(text: str) -> object:
    global _decoder
    if _decoder is None:
        from json import JSONDecoder

        _decoder = JSONDecoder(parse_constant=_no_constant, parse_int=_integer)
    return _decoder.decode(text)


def parse_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object that a line holds, or None."""
    if may_be_too_deep(line) and _depth(line) > MAX_DEPTH:
        return None
    try:
        value = _decode(line.strip(_WHITE).decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def may_be_too_deep(line: bytes) -> bool:
    """Whether a line has so many opening brackets that its nesting has to be counted."""
    return len(line) > 2 * MAX_DEPTH and line.count(b"[") + line.count(b"{") > MAX_DEPTH


def _depth(line: bytes) -> int:
    depth = deepest = 0
    inside = escaped = False
    for byte in line:
        if inside:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = False
        elif byte == 0x22:
            inside = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def decode_line(line: bytes) -> Decoded:
    """What one line (without its newline) is."""
    if not line.strip(_WHITE):
        return BLANK
    raw = parse_object(line)
    if raw is None or not isinstance(raw.get("type"), str):
        return MALFORMED
    seq = raw.get("seq")
    if seq is not None and (not isinstance(seq, int) or isinstance(seq, bool) or seq < 0):
        return MALFORMED
    version = raw.get("v", VERSION)
    if not isinstance(version, int) or isinstance(version, bool) or version != VERSION:
        return UNKNOWN_VERSION
    sid = raw.get("sid")
    if not isinstance(sid, str) or not sid:
        sid = seq = None
    feature, ts, data, eid = raw.get("feature"), raw.get("ts"), raw.get("data"), raw.get("eid")
    return Event(
        raw["type"],
        sid,
        seq,
        feature if isinstance(feature, str) else None,
        ts if isinstance(ts, str) else None,
        data if isinstance(data, dict) else {},
        eid if isinstance(eid, str) else None,
    )
