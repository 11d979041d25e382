"""Notices that somebody has set the wall clock, so that a deadline stays as far away as it was.

A deadline is recorded as a time of the wall clock: after a restart there is no other. While the daemon runs, a steady
clock shows by how much the wall clock was set. After a restart it is only known that the clock was set back if what was
recorded last lies ahead of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

#: A clock that was corrected by less than this many seconds was not set.
_STEP: Final = 1.0


class ClockWatch:
    """Remembers for each subject (a session, a job) how the two clocks stood when its deadlines were last right."""

    def __init__(self, clock: Callable[[], float], steady: Callable[[], float] | None) -> None:
        """`steady` also counts while the machine sleeps. None: the wall clock is trusted."""
        self._clock = clock
        self._steady = steady
        self._ahead: dict[str, float] = {}

    def set_by(self, subject: str, newest: float) -> float:
        """By how many seconds the clock was set since the subject's deadlines were right; 0: it was not.

        `newest`: when something was last recorded about the subject. It counts for one that was just read.
        """
        if self._steady is None:
            return 0.0
        known = self._ahead.get(subject)
        by = min(0.0, self._clock() - newest) if known is None else self._clock() - self._steady() - known
        return by if abs(by) > _STEP else 0.0

    def read(self, subject: str, newest: float) -> None:
        """The subject was just read. Its deadlines are right, unless they were recorded ahead of the clock."""
        if self.set_by(subject, newest) == 0.0:
            self.is_right(subject)

    def reading(self) -> float:
        """How the two clocks stand to each other now."""
        return self._clock() - self._steady() if self._steady is not None else 0.0

    def is_right(self, subject: str, reading: float | None = None) -> None:
        """The subject's deadlines are right by the clock as it was at a reading; None: as it is now.

        Whoever records something in between takes the reading first: the clock may be set while the disk works.
        """
        if self._steady is not None:
            self._ahead[subject] = self.reading() if reading is None else reading

    def forget(self, subject: str) -> None:
        """The subject is no longer in memory."""
        self._ahead.pop(subject, None)
