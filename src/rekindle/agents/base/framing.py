"""Lines out of byte chunks, with the offset of each.

A last line without its newline waits. A line over the limit is reported once it has ended and is not kept.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

LONGEST_LINE: Final = 16 * 1024 * 1024
_HEAD: Final = 200


class Line(msgspec.Struct, frozen=True):
    """`start` is the offset of its first byte, `end` the offset after its newline; `data` has no newline."""

    start: int
    end: int
    data: bytes


class Oversized(msgspec.Struct, frozen=True):
    """A line that was skipped; `head` is its beginning."""

    start: int
    end: int
    head: bytes


Framed: TypeAlias = Line | Oversized


class Framer:
    def __init__(self, offset: int = 0, *, longest: int = LONGEST_LINE) -> None:
        self._start = self._offset = offset
        self._longest = longest
        self._parts: list[bytes] = []
        self._skipped_head: bytes | None = None

    @property
    def offset(self) -> int:
        """Where the next chunk has to come from."""
        return self._offset

    def feed(self, chunk: bytes) -> list[Framed]:
        """The lines that this chunk completes, in order."""
        framed: list[Framed] = []
        at = 0
        while (newline := chunk.find(b"\n", at)) >= 0:
            self._take(chunk[at:newline])
            self._offset += 1
            framed.append(self._finish())
            at = newline + 1
        self._take(chunk[at:])
        return framed

    def _take(self, part: bytes) -> None:
        self._offset += len(part)
        if not part or self._skipped_head is not None:
            return
        self._parts.append(part)
        if self._offset - self._start > self._longest:
            self._skipped_head = b"".join(self._parts)[:_HEAD]
            self._parts.clear()

    def _finish(self) -> Framed:
        start, self._start = self._start, self._offset
        if self._skipped_head is not None:
            head, self._skipped_head = self._skipped_head, None
            return Oversized(start, self._offset, head)
        data = b"".join(self._parts)
        self._parts.clear()
        return Line(start, self._offset, data)
