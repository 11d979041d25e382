"""A second process for a long journal: it makes the digests of the later part while the reader folds the earlier one.

The process is `digest_part`. It only saves time: what it did not hand over, for whatever reason, the reader digests by
itself, so the outcome never depends on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from types import TracebackType

import msgspec

from rekindle.adapters.journal_file import digest_part
from rekindle.adapters.journal_file.digest_part import Part
from rekindle.core.journal.digest import Stretch

#: Below this a second process takes longer to start than it saves.
WORTH_IT = 48 << 20
#: How much of the file the reader keeps for itself: it also folds what the other process has digested.
_OWN_SHARE = 0.47


_decode = msgspec.msgpack.Decoder(list[Part]).decode


class SecondHalf:
    """The later part of a file that is being read. Leave it, and the process is gone."""

    def __init__(self, fd: int, start: int, end: int, worth_it: int = WORTH_IT) -> None:
        #: where the later part begins; `end` where there is no second process
        self.begins = end
        self._process: subprocess.Popen[bytes] | None = None
        if end - start < worth_it or _cores() < 2:
            return
        middle = _line_start(fd, start + int((end - start) * _OWN_SHARE), end)
        words = (sys.executable, "-P", "-m", digest_part.__name__, str(fd), str(middle), str(end))
        quiet = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                words, pass_fds=(fd,), cwd="/", stdin=quiet, stdout=subprocess.PIPE, stderr=quiet
            )
        except OSError:
            return
        self.begins = middle

    def parts(self) -> Iterator[tuple[list[Stretch], int]]:
        """The digests in file order, each with the offset behind its block; fewer or none if the process failed."""
        if self._process is None:
            return
        said, _ = self._process.communicate()
        if self._process.returncode != 0:
            return
        for part in _decode(said):
            yield part.stretches, part.behind

    def __enter__(self) -> SecondHalf:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()  # nothing, if it has ended
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process.wait()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _line_start(fd: int, place: int, end: int) -> int:
    """Where the first line begins that starts behind `place`; `end` if none does."""
    while place < end:
        block = os.pread(fd, min(1 << 16, end - place), place)
        cut = block.find(b"\n")
        if cut >= 0:
            return place + cut + 1
        if not block:
            break
        place += len(block)
    return end
