"""A calendar without time zones: every expression means every full hour."""

from __future__ import annotations

from rekindle.core.quantities import seconds_in
from rekindle.ports.errors import UsageError


class HourlyCalendar:
    """Held to the promises of `rekindle.ports.calendar` that do not need a time zone."""

    def next_after(self, every: str, zone: str, moment: float) -> float | None:
        if every == "0 0 30 2 *":
            return None
        if every != "0 * * * *" or zone not in ("", "UTC"):
            raise UsageError(f"{every!r} is not a valid cron expression", "give '0 * * * *'")
        return (moment // 3600 + 1) * 3600.0

    def moment(self, text: str, zone: str, now: float) -> float:
        found = seconds_in(text)
        if found is None:
            raise UsageError(f"{text!r} is not a time", "give 2h (from now)")
        return now + found

    def local_zone(self) -> str:
        return "UTC"
