"""A clock that nobody sets. It counts the time that the machine sleeps too, where the system has such a clock."""

from __future__ import annotations

import time


def now() -> float:
    """Seconds since some moment in the past."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boot) if boot is not None else time.monotonic()
