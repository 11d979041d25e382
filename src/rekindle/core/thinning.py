"""Which snapshots are old enough to go. Pure.

All of the last hour stay, then one an hour for a day, one a day for a month, one a week after that. The hours, days and
weeks are those of the calendar (UTC), so that thinning often and thinning once have the same result.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

HOUR = 3_600
DAY = 24 * HOUR
WEEK = 7 * DAY
MONTH = 30 * DAY


class SnapshotAge(msgspec.Struct, frozen=True):
    """A snapshot: when it was taken (whole seconds), and whether it stays whatever its age."""

    at: int
    pinned: bool = False


def to_drop(snapshots: Sequence[SnapshotAge], now: float) -> list[int]:
    """The positions of those that go; `snapshots` are oldest first. The first, the last and the pinned ones stay.

    One goes if a later one is in the same hour, day or week, depending on its age.
    """
    last_of: dict[tuple[int, int], int] = {}
    for position, snapshot in enumerate(snapshots):
        for width in (HOUR, DAY, WEEK):
            last_of[width, snapshot.at // width] = position
    dropped = []
    for position, snapshot in enumerate(snapshots):
        span = _span(now - snapshot.at)
        if position == 0 or snapshot.pinned or span is None:
            continue
        if last_of[span, snapshot.at // span] > position:
            dropped.append(position)
    return dropped


def _span(age: float) -> int | None:
    """How much time one snapshot stands for at this age; None: all are kept."""
    if age < HOUR:
        return None
    return HOUR if age < DAY else DAY if age < MONTH else WEEK
