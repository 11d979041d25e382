"""The calendar of this machine: cron expressions by cronsim, time zones from the system. See `ports.calendar`."""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rekindle.ports.errors import UsageError

_LOCALTIME = "/etc/localtime"
_MARK = "zoneinfo/"


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
