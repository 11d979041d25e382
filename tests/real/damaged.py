"""Builds damaged records out of a whole one: every kind of line removed, altered, swapped, doubled or made foreign.

Only the bytes are changed; what an agent makes of them is for the tests to find out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

OPERATIONS: Final = ("removed", "altered", "swapped", "doubled", "foreign", "file")


@dataclass(frozen=True)
class Case:
    """`data` is what lies there instead of the record; None: nothing does. `foreign`: words of another conversation."""

    name: str
    data: bytes | None
    foreign: bool = False


def cases(operation: str, record: bytes, other: bytes) -> Iterator[Case]:
    """Each damage of one sort. `other` is the whole record of another conversation of the same agent."""
    if operation == "file":
        yield from _files(record, other)
        return
    lines = record.splitlines(keepends=True)
    theirs = other.splitlines(keepends=True)
    for kind, places in _by_kind(lines).items():
        for at in sorted({places[0], places[-1]}):
            changed = _CHANGES[operation](lines, at, [line for line in theirs if kind_of(line) == kind])
            if changed is not None:
                yield Case(f"{kind} in line {at + 1} {operation}", b"".join(changed), operation == "foreign")


def kind_of(line: bytes) -> str:
    """What sort of line it is, in the words of its agent."""
    try:
        record = json.loads(line)
    except ValueError:
        return "unreadable"
    payload = record.get("payload") if isinstance(record.get("payload"), dict) else {}
    message = record.get("message") if isinstance(record.get("message"), dict) else {}
    content = message.get("content")
    blocks = [one.get("type") for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    words = [record.get("type"), record.get("subtype"), payload.get("type"), payload.get("role"), *blocks[:1]]
    item = payload.get("item")
    words.append(item.get("type") if isinstance(item, dict) else None)
    return " ".join(str(one) for one in words if one)


def _by_kind(lines: Sequence[bytes]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        found.setdefault(kind_of(line), []).append(at)
    return found


def _files(record: bytes, other: bytes) -> Iterator[Case]:
    lines = record.splitlines(keepends=True)
    half = len(lines) // 2
    yield Case("deleted", None)
    yield Case("emptied", b"")
    yield Case("cut behind half of its lines", b"".join(lines[:half]))
    yield Case("cut in the middle of a line", b"".join(lines[:half]) + lines[half][: len(lines[half]) // 2])
    yield Case("without its first half", b"".join(lines[half:]))
    yield Case("twice in one file", record + record)
    yield Case("replaced by another conversation", other, foreign=True)
    yield Case("followed by another conversation", record + other, foreign=True)


Change = Callable[[Sequence[bytes], int, Sequence[bytes]], "list[bytes] | None"]


def _removed(lines: Sequence[bytes], at: int, _: Sequence[bytes]) -> list[bytes] | None:
    return [*lines[:at], *lines[at + 1 :]]


def _doubled(lines: Sequence[bytes], at: int, _: Sequence[bytes]) -> list[bytes] | None:
    return [*lines[: at + 1], *lines[at:]]


def _swapped(lines: Sequence[bytes], at: int, _: Sequence[bytes]) -> list[bytes] | None:
    """With the next line of another kind that somebody's words are in, else with the next line."""
    behind = [n for n in range(at + 1, len(lines)) if kind_of(lines[n]) != kind_of(lines[at])]
    spoken = [n for n in behind if any(word in lines[n] for word in (b"answer", b"This is about"))]
    if not behind:
        return None
    other = (spoken or behind)[0]
    changed = list(lines)
    changed[at], changed[other] = changed[other], changed[at]
    return changed


def _foreign(lines: Sequence[bytes], at: int, theirs: Sequence[bytes]) -> list[bytes] | None:
    return [*lines[:at], theirs[-1], *lines[at + 1 :]] if theirs else None


def _altered(lines: Sequence[bytes], at: int, _: Sequence[bytes]) -> list[bytes] | None:
    try:
        before = json.loads(lines[at])
    except ValueError:
        return None
    record = _other_words(before)
    if record == before:
        return None  # nobody's words are in it
    changed = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    return [*lines[:at], changed, *lines[at + 1 :]]


def _other_words(value: Any, key: str = "") -> Any:
    """The same shape with other words, where somebody's words are."""
    if isinstance(value, dict):
        return {name: _other_words(one, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_other_words(one, key) for one in value]
    if isinstance(value, str) and key in ("text", "content", "message", "last_agent_message", "output", "arguments"):
        return f"{value} (and not as it was)"
    return value


_CHANGES: Final[dict[str, Change]] = {
    "removed": _removed,
    "altered": _altered,
    "swapped": _swapped,
    "doubled": _doubled,
    "foreign": _foreign,
}
