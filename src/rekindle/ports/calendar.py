"""The calendar: which moments a schedule means, in the time zone of whoever asked for it."""

from __future__ import annotations

from typing import Protocol


class Calendar(Protocol):
    """Knows time zones, and the days on which their clocks change. Raises UsageError."""

    def next_after(self, every: str, zone: str, moment: float) -> float | None:
        """The next time of a cron expression after a moment (seconds since 1970); None: it never comes.

        An hour that the clocks leave out is made up for right after it; one that they repeat counts once.
        """
        ...

    def moment(self, text: str, zone: str, now: float) -> float:
        """The moment that somebody means: 2026-11-18T03:00, 03:00 (the next time it is so late), or 2h from now."""
        ...

    def local_zone(self) -> str:
        """The name of the time zone here."""
        ...
