"""Reads a journal's state: cold from the first byte, or warm from a snapshot and the bytes behind it.

A second process helps with a long journal (second_half.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rekindle import files
from rekindle.adapters.journal_file import blocks
from rekindle.adapters.journal_file.second_half import WORTH_IT, SecondHalf
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.decode import Decoded, decode_line
from rekindle.core.journal.fold import JournalState, fold
from rekindle.core.journal.stream import Irregular, StreamFold
from rekindle.core.journal.tail import Tail, last_run

#: Below this a cold fold is as quick as a look at the snapshot. A snapshot is renewed when a 128th has been added.
_WORTH_A_SNAPSHOT = 1 << 16


def read_state(
    path: Path, snapshots: SnapshotCache | None = None, *, follow: bool = False, long: int = WORTH_IT
) -> JournalState:
    """Everything that the journal at `path` says. Raises OSError where it cannot be read, or is a link.

    `follow` is for a path that the user has typed: a link there is the user's own. With `long` bytes to read or more,
    a second process helps.
    """
    fd, size = files.open_sized(path, follow=follow)
    try:
        kept = snapshots.load(path, fd, size) if snapshots is not None else None
        start, state = kept if kept is not None else (0, JournalState())
        try:
            return _stream(fd, size, start, state, path, snapshots, long)
        except Irregular:
            return fold(_decoded(fd, size))
    finally:
        os.close(fd)


def read_tail(path: str | Path) -> Tail | None:
    """Who wrote last. Reads from the end and no further than it must; raises OSError."""
    fd, size = files.open_sized(path, follow=False)
    try:
        return last_run(map(decode_line, blocks.backward(fd, size)))
    finally:
        os.close(fd)


def _stream(
    fd: int, size: int, start: int, state: JournalState, path: Path, snapshots: SnapshotCache | None, long: int
) -> JournalState:
    stream = StreamFold(state)
    offset = start
    last = b""
    with SecondHalf(fd, start, size, long) as later:
        for block, behind in blocks.forward(fd, start, later.begins):
            if block.endswith(b"\n"):
                stream.feed(block)
                offset = behind
        if offset == later.begins:  # else it was truncated while we read
            for stretches, behind in later.parts():
                stream.feed_digest(stretches)
                offset = behind
    for block, behind in blocks.forward(fd, offset, size):
        if block.endswith(b"\n"):
            stream.feed(block)
            offset = behind
        else:
            last = block
    if snapshots is not None and offset - start >= max(_WORTH_A_SNAPSHOT, start >> 7):
        snapshots.store(path, fd, offset, stream.state)
    if last:
        stream.feed_last(last)
    return stream.state


def _decoded(fd: int, size: int) -> Iterator[Decoded]:
    for block, _ in blocks.forward(fd, 0, size):
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        yield from map(decode_line, lines)
