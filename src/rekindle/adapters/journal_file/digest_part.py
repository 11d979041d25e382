"""`python -m rekindle.adapters.journal_file.digest_part FD START END`: digests a part of a journal (second_half.py).

A process of its own that somebody waits for, so it imports nothing that it does not need.
"""

from __future__ import annotations

import os
import sys

import msgspec

from rekindle.adapters.journal_file import blocks
from rekindle.core.journal.digest import Stretch, digest


class Part(msgspec.Struct, array_like=True):
    """The digest of one block, and the offset behind that block."""

    behind: int
    stretches: list[Stretch]


_encode = msgspec.msgpack.Encoder().encode


def main(fd: int, start: int, end: int) -> None:
    """Digest the whole lines of a part of a file, then say everything at once: nobody listens earlier."""
    parts = [Part(behind, digest(block)) for block, behind in blocks.forward(fd, start, end) if block.endswith(b"\n")]
    sys.stdout.buffer.write(_encode(parts))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
    os._exit(0)
