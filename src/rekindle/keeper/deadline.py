"""The time until which an agent of a fleet may live, in memory that keeper and guard share.

A keeper outlives its worker, and the fleet starts a successor elsewhere once it has not heard from that worker for long
enough. So the worker renews this time after each heartbeat that was accepted; when it passes, the keeper ends the whole
tree, and the guard does if the keeper cannot. On one machine there is no deadline.

Times are those of a clock that never goes back and goes on while the machine sleeps (CLOCK_BOOTTIME).
"""

import ctypes
import mmap
import time

#: What the agent gets for its shutdown once the time has passed. Its stdin is closed, SIGTERM comes after a quarter.
GRACE = 1.0
#: How long after that the guard still leaves it to the keeper.
PATIENCE = 0.5
#: The longest sleep of those who watch it: a machine that was asleep wakes them late.
LONGEST_SLEEP = 1.0
#: How long ending a tree takes at most, measured, with a margin: what a worker has to keep free before its successor.
ENDS_WITHIN = 3.0
_FURTHEST = 24 * 3600.0
_MILLI = 1000


def clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Deadline:
    """Made before the fork. `until` 0 means that there is none."""

    def __init__(self, until: float) -> None:
        self.is_set = until > 0
        if self.is_set:
            self._memory = mmap.mmap(-1, mmap.PAGESIZE)
            # One aligned number of 64 bits, so that a reader gets either the old time or the new one.
            self._cell = ctypes.c_int64.from_buffer(self._memory)
            self._cell.value = _milliseconds(until)

    def left(self) -> float | None:
        """Seconds until it passes, below 0 afterwards; None if there is none."""
        return self._cell.value / _MILLI - clock() if self.is_set else None

    @property
    def has_passed(self) -> bool:
        left = self.left()
        return left is not None and left <= 0

    def renew(self, until: float) -> None:
        """Put it off. It never comes closer: an answer that was long on its way must not undo a newer one."""
        self._cell.value = max(self._cell.value, _milliseconds(until))

    def sleep(self, wanted: float) -> float:
        """How long those who watch it may sleep, if they wanted to for so long."""
        left = self.left()
        return wanted if left is None else max(0.0, min(wanted, left, LONGEST_SLEEP))


def is_sensible(until: float) -> bool:
    """Whether it is a time of this clock, and not of another one."""
    return 0 <= until <= clock() + _FURTHEST


def _milliseconds(until: float) -> int:
    return int(until * _MILLI)
