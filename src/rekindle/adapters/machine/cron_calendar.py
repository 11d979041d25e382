"""The calendar of this machine: cron expressions by cronsim, time zones from the system. See `ports.calendar`."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, tzinfo
from datetime import time as clock
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rekindle.core.quantities import seconds_in
from rekindle.ports.errors import UsageError

_LOCALTIME = "/etc/localtime"
_MARK = "zoneinfo/"
#: The end of the year 9999: no date is later.
_LAST = 253402300799.0


class CronCalendar:
    """`zone` is what the environment says (TZ), if anything."""

    def __init__(self, zone: str | None = None) -> None:
        self._zone = zone

    def next_after(self, every: str, zone: str, moment: float) -> float | None:
        """The next time of a cron expression."""
        from cronsim import CronSim, CronSimError  # only those who use schedules pay for it

        try:
            times = CronSim(every, datetime.fromtimestamp(moment, _zone(zone)))
        except CronSimError as error:
            raise UsageError(
                f"{every!r} is not a valid cron expression: {error}",
                "give minute, hour, day of the month, month and day of the week, for example '30 2 * * 1-5'",
            ) from error
        try:
            while True:
                found = next(times).timestamp()
                if found > moment:
                    return found
        except StopIteration:
            return None

    def moment(self, text: str, zone: str, now: float) -> float:
        """A date with a time, a time of day, or a duration from now."""
        given = text.strip()
        seconds = seconds_in(given.removeprefix("+")) if given[-1:] in ("s", "m", "h", "d") else None
        if seconds is not None:
            if now + seconds > _LAST:
                raise UsageError(f"{text!r} from now is later than any date", "give a time before the year 10000")
            return now + seconds
        here = datetime.fromtimestamp(now, _zone(zone))
        try:
            if len(given) <= len("00:00:00"):
                found = datetime.combine(here.date(), clock.fromisoformat(given), here.tzinfo)
                found = found if found > here else found + timedelta(days=1)
            else:
                found = datetime.fromisoformat(given)
                found = found if found.tzinfo is not None else found.replace(tzinfo=here.tzinfo)
            return found.timestamp()
        except (ValueError, OverflowError) as error:
            raise UsageError(
                f"{text!r} is not a time", "give 03:00, 2026-11-18T03:00 (your time zone), or 2h (from now)"
            ) from error

    def local_zone(self) -> str:
        """TZ, or what the system is set to, or UTC."""
        given = (self._zone or "").lstrip(":")
        if given and _is_zone(given):
            return given
        try:
            target = os.readlink(_LOCALTIME)
        except OSError:
            return "UTC"
        name = target.rpartition(_MARK)[2]
        return name if _MARK in target and _is_zone(name) else "UTC"


def _zone(name: str) -> tzinfo:
    if name in ("", "UTC"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UsageError(f"there is no time zone {name!r}", "name one like Europe/Berlin, or UTC") from error


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
