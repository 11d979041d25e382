"""Cuts off what takes too long, by an exception in the main thread: whoever started something then clears it away."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class TooLong(Exception):
    """The time is up."""


@contextmanager
def only_until(end: float) -> Iterator[None]:
    """Raise TooLong in the block when the time (by `monotonic`) has come."""

    def ring(_signal: int, _frame: object) -> None:
        raise TooLong("it took too long and was cut off")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(end - monotonic(), 1.0))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
