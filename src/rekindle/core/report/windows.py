"""Which time a report is about, as people write it: `yesterday`, `8h`, `2026-11-16`, `22:30`. Pure.

Days begin at midnight where the person is: the caller names the zone; None is this machine's.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from typing import Final

from rekindle.core.quantities import seconds_in
from rekindle.core.report.sources import Window

#: What can be written, for people.
EXAMPLES: Final = "yesterday, today, 8h (ago), 22:30 (the last time it was), 2026-11-16 or 2026-11-16T22:30"
_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DAYS: Final = {"today": 0, "yesterday": 1}


def moment(text: str, now: float, zone: tzinfo | None = None) -> float | None:
    """The time that is meant; None for what is not a valid time. A number alone is not one: nobody knows its unit."""
    word = text.strip().lower()
    here = datetime.fromtimestamp(now, zone)
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0)
    if word == "now":
        return now
    if word in _DAYS:
        return (midnight - timedelta(days=_DAYS[word])).timestamp()
    if (clock := _CLOCK.fullmatch(word)) is not None:
        at = midnight.replace(hour=int(clock[1]), minute=int(clock[2]))
        return at.timestamp() if at.timestamp() <= now else (at - timedelta(days=1)).timestamp()
    if word[-1:] in ("s", "m", "h", "d") and (seconds := seconds_in(word)) is not None:
        return now - seconds
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        return (found if found.tzinfo is not None else found.replace(tzinfo=zone)).timestamp()
    except (OverflowError, OSError, ValueError):
        return None


def last_time(minute: int, now: float, zone: tzinfo | None = None) -> float:
    """The last time, up to now, at which it was this minute of a day."""
    here = datetime.fromtimestamp(now, zone)
    at = here.replace(hour=minute // 60, minute=minute % 60, second=0, microsecond=0)
    return at.timestamp() if at.timestamp() <= now else (at - timedelta(days=1)).timestamp()


def before(at: float, zone: tzinfo | None = None) -> Window:
    """The day that ends then: since the same time the day before."""
    return Window((datetime.fromtimestamp(at, zone) - timedelta(days=1)).timestamp(), at)


def written(at: float, zone: tzinfo | None = None) -> str:
    """A time as `moment` reads it, to the minute."""
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None).isoformat(timespec="minutes")
