"""A journal's bytes, from either end, in blocks of whole lines."""

from __future__ import annotations

import os
from collections.abc import Iterator

from rekindle.core.journal.decode import BOM

_FORWARD = 1 << 18
_BACKWARD = 1 << 12
_BACKWARD_MAX = 1 << 20


def forward(fd: int, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Blocks of whole lines from `start` (a line's beginning) to `end`, each with the offset behind it.

    The last one may lack its newline: then it is a single line, torn or not ended yet. A byte order mark at the
    start of the file is left out.
    """
    rest = b""
    position = start
    want = _FORWARD
    while position < end:
        more = os.pread(fd, min(want, end - position), position)
        if not more:
            break  # truncated while we read
        position += len(more)
        rest += more
        if start == 0 and position == len(more):
            rest = rest.removeprefix(BOM)
        cut = rest.rfind(b"\n") + 1
        if cut:
            yield rest[:cut], position - (len(rest) - cut)
            rest, want = rest[cut:], _FORWARD
        else:
            want *= 2  # a very long line: read on in growing steps
    if rest:
        yield rest, position


def backward(fd: int, size: int) -> Iterator[bytes]:
    """The lines of a file from the last one to the first, without their newlines, read in growing blocks."""
    rest = b""
    position = size
    want = _BACKWARD
    while position > 0:
        step = min(want, position)
        position -= step
        block = os.pread(fd, step, position)
        if position == 0:
            block = block.removeprefix(BOM)
        lines = (block + rest).split(b"\n")
        rest = lines[0]
        yield from reversed(lines[1:])
        want = min(want * 4, _BACKWARD_MAX)
    if size > 0:
        yield rest
