"""JSON as agents write it: they cut texts in the middle of a character, so strict JSON gets a lenient second chance.

Any bytes are allowed; nothing is raised.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

_EXCERPT: Final = 200


def excerpt(line: bytes) -> str:
    """The beginning of a line, for display."""
    return line[: _EXCERPT * 4].decode(errors="replace")[:_EXCERPT]


def parse(text: bytes) -> Any:
    """The JSON value of a text; None if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return _whole(json.loads(text.decode(errors="replace"), parse_constant=lambda _: None))
    except (ValueError, RecursionError):
        return None


def _whole(value: Any) -> Any:
    """The value with every lone surrogate replaced, so that it can be written again."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case list():
            return [_whole(item) for item in value]
        case dict():
            return {_whole(key): _whole(item) for key, item in value.items()}
        case _:
            return value


def encode_line(body: dict[str, Any]) -> bytes:
    """One message as one line, with its newline."""
    try:
        data = msgspec.json.encode(body)
    except (UnicodeEncodeError, OverflowError):  # half a character, e.g. from a cut text; an id of 100 digits
        data = clean(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()
    # Agents on Node may split lines at these too; they occur only inside JSON strings.
    return data.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029") + b"\n"


def clean(text: str) -> str:
    """The text with everything that is not a character replaced."""
    return text.encode(errors="replace").decode()
