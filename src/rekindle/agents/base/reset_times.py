"""When a limit ends, read from an agent's words: "resets 4:20pm (Asia/Tbilisi)", "try again in 2 hours 5 minutes".

If the agent reports it as data, that counts instead. A time without a zone is in the zone of this machine, because
that is how agents show it. Text in which no time is found gives None: then rekindle waits for a fixed pause.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_BEFORE: Final = (
    r"(?:resets?|resetting|try again|retry|regain access|available again|access returns)\b\s*(?:on|at|in|after|:)?\s*"
)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ZONE: Final = r"(?:\s*\(?(?P<zone>[A-Z][A-Za-z_]+(?:/[A-Za-z_+\-0-9]+)+|(?-i:[A-Z]{1,5})\b)\)?)?"
_CLOCK: Final = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})?\s*(?P<half>[ap]\.?m\.?)?"
_ISO: Final = re.compile(
    _BEFORE
    + r"(?P<date>\d{4}-\d{2}-\d{2})(?:(?:T|,?\s+(?:at\s+)?)"
    + _CLOCK
    + r")?(?P<offset>[+-]\d{2}:\d{2})?"
    + _ZONE,
    re.IGNORECASE,
)
_NAMED: Final = re.compile(
    _BEFORE
    + r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s*(?:at\s+)?)?"
    + r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    + r"(?:,?\s+(?P<year>\d{4}))?,?\s*(?:at\s+)?)?"
    + _CLOCK
    + r"(?!\s*(?:s|sec|m|min|h|hour|d|day|%|\d))"
    + _ZONE,
    re.IGNORECASE,
)
_UNIT: Final = r"(ms|s|sec|m|min|h|hr|hour|d|day|w|week)(?:s|ond|onds|ute|utes)?\b"
_SPAN: Final = re.compile(_BEFORE + r"(?P<span>(?:\d+(?:\.\d+)?\s*" + _UNIT + r",?\s*(?:and\s+)?)+)", re.IGNORECASE)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*" + _UNIT, re.IGNORECASE)
_SECONDS: Final = {
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
    "hr": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "w": 604800.0,
    "week": 604800.0,
}
#: A limit that ends later than this was misread, or is not one that anybody waits for.
_LONGEST: Final = 60 * 86400.0
#: A time that passed less than this long ago is today's, not tomorrow's.
_JUST_NOW: Final = 120.0


def reset_in(text: str, now: float) -> float | None:
    """When the limit that a text mentions ends, in seconds since 1970; None: it names no time."""
    for reader in (_iso, _span, _named):
        found = reader(text, now)
        if found is not None:
            return found if -_JUST_NOW <= found - now <= _LONGEST else None
    return None


def _iso(text: str, _now: float) -> float | None:
    found = _ISO.search(text)
    if found is None:
        return None
    clock = _clock(found) if found["hour"] else (0, 0)
    zone = _zone(found["offset"] or found["zone"])
    if clock is None or zone is _UNKNOWN:
        return None
    try:
        day = datetime.fromisoformat(found["date"]).replace(hour=clock[0], minute=clock[1])
        return day.replace(tzinfo=zone if isinstance(zone, tzinfo) else None).timestamp()
    except (ValueError, OverflowError):
        return None


def span_in(text: str) -> float | None:
    """How many seconds a text says to wait; None: it does not say."""
    found = _SPAN.search(text)
    parts = _PART.findall(found["span"]) if found is not None else []
    seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts)
    return seconds if parts and seconds <= _LONGEST else None


def _span(text: str, now: float) -> float | None:
    seconds = span_in(text)
    return now + seconds if seconds is not None else None


def _named(text: str, now: float) -> float | None:
    """The next occurrence of a clock time, alone or with a weekday or a date."""
    for found in _NAMED.finditer(text):
        clock = _clock(found)
        zone = _zone(found["zone"])
        is_clock = found["minute"] or found["half"] or found["month"] or found["weekday"]
        if clock is None or zone is _UNKNOWN or not is_clock:
            continue
        moment = _next(found, clock, zone if isinstance(zone, tzinfo) else None, now)
        if moment is not None:
            return moment
    return None


def _next(found: re.Match[str], clock: tuple[int, int], zone: tzinfo | None, now: float) -> float | None:
    today = datetime.fromtimestamp(now, zone) if zone is not None else datetime.fromtimestamp(now)  # noqa: DTZ006
    at = today.replace(hour=clock[0], minute=clock[1], second=0, microsecond=0, fold=0)
    try:
        if found["month"]:
            month = _MONTHS.index(found["month"].lower()) + 1
            at = at.replace(year=int(found["year"] or today.year), month=month, day=int(found["day"]))
            if not found["year"] and at.timestamp() < now - _JUST_NOW:
                at = at.replace(year=at.year + 1)
            return at.timestamp()
        if found["weekday"]:
            at += timedelta(days=(_DAYS.index(found["weekday"].lower()) - today.weekday()) % 7)
            return (at if at.timestamp() >= now - _JUST_NOW else at + timedelta(days=7)).timestamp()
        return (at if at.timestamp() >= now - _JUST_NOW else at + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError):
        return None


def _clock(found: re.Match[str]) -> tuple[int, int] | None:
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), (found["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    return (hour, minute) if hour < 24 and minute < 60 else None


class _Unknown:
    """An unknown zone."""


_UNKNOWN: Final = _Unknown()


def _zone(name: str | None) -> tzinfo | _Unknown | None:
    """The zone with this name; None: none was named."""
    if not name:
        return None
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    try:
        if name[0] in "+-":
            return datetime.fromisoformat(f"2000-01-01T00:00:00{name}").tzinfo
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _UNKNOWN
