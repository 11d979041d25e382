"""What all sessions have spent today and tonight, and whether that is too much. Pure.

A day is a calendar day; a night begins and ends when the user says. Both are in the zone of the user's machine, which
the caller names. Only turns whose cost the agent reports are counted.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import Literal

import msgspec

from rekindle.core.governor.rules import DAY_MINUTES, GovernorRules
from rekindle.core.governor.state import Governor


class SpendingWindow(msgspec.Struct, frozen=True):
    """A stretch of time with a cap. `about` names it, so that it is asked about once."""

    name: Literal["day", "night"]
    since: float
    until: float
    spent: float
    cap: float | None

    @property
    def about(self) -> str:
        """This very day or night."""
        return f"{self.name}:{self.since:.0f}"

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be spent."""
        return self.cap is not None and self.spent >= self.cap


def spent_since(state: Governor, since: float, until: float) -> float:
    """What was spent in a stretch of time, in dollars."""
    return sum(cost for at, cost in state.paid.items() if since <= at < until)


def windows(state: Governor, rules: GovernorRules, now: float, zone: tzinfo | None) -> list[SpendingWindow]:
    """Today, and tonight while it is night. Zone None: this machine's."""
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    found = [_window(state, "day", today, today + timedelta(days=1), rules.cost_per_day)]
    begins, ends = rules.night
    length = timedelta(minutes=(ends - begins) % DAY_MINUTES)
    for evening in (today - timedelta(days=1), today):
        begin = evening.replace(hour=begins // 60, minute=begins % 60)
        night = _window(state, "night", begin, begin + length, rules.cost_per_night)
        if night.since <= now < night.until:
            found.append(night)
    return found


def used_up(state: Governor, rules: GovernorRules, now: float, zone: tzinfo | None) -> SpendingWindow | None:
    """The window in which nothing more may be spent; the one that ends last, if there are two."""
    if rules.cost_per_day is None and rules.cost_per_night is None:
        return None
    found = [one for one in windows(state, rules, now, zone) if one.is_used_up]
    return max(found, key=lambda one: one.until, default=None)


def _window(
    state: Governor, name: Literal["day", "night"], since: datetime, until: datetime, cap: float | None
) -> SpendingWindow:
    begin, end = since.timestamp(), until.timestamp()
    found = SpendingWindow(name, begin, end, spent_since(state, begin, end), cap)
    raised = state.raised.get(found.about)
    if cap is None or raised is None:
        return found
    return SpendingWindow(name, begin, end, found.spent, max(cap, raised))
