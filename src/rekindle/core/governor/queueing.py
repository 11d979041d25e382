"""The queue of those that wait for one limit: who comes back when. Pure.

When a limit ends, all that wait for it would begin at the same moment and might use it up at once. They come back one
by one, the most urgent first, then the one that has waited longest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from rekindle.core.governor.rules import GovernorRules
from rekindle.core.governor.state import Governor

#: A session whose time has just come is about to ask for its place. One that does not ask holds up nobody.
_GRACE: Final = 3.0
#: Limits that end this close to each other are one limit, told at different moments.
_SAME_END: Final = 60.0


class LimitWait(msgspec.Struct, frozen=True):
    """A session that waits for a limit. `due`: when that ends, as far as it was told. `asks`: it wants to go on now."""

    session: str
    limit: str
    prompt: str
    since: float
    due: float
    urgency: int = 0
    asks: bool = False

    @property
    def order(self) -> tuple[int, float, str]:
        """The most urgent first, then the one that has waited longest."""
        return (-self.urgency, self.since, self.session)


def schedule(state: Governor, rules: GovernorRules, waiting: Iterable[LimitWait], now: float) -> dict[str, float]:
    """When each of those that wait comes back, as far as is known now. All of them wait for the same limit."""
    left = [one for one in waiting if one.asks or one.due > now - _GRACE]
    if not left:
        return {}
    limit = left[0].limit
    news, last = state.limits.get(limit), state.returns.get(limit)
    due = {one.session: one.due for one in left}
    if news is not None and news.at <= now:  # one that has come back may have been told that the limit is not over yet
        due |= {one.session: max(one.due, news.until) for one in left if news.at > one.due - _SAME_END}
    # What lies ahead of now was recorded before the clock was set back: nobody waits for that.
    at = max(now, last + rules.spacing if last is not None and last <= now else now)
    found: dict[str, float] = {}
    while left:
        at = max(at, min(due[one.session] for one in left))
        best = min((one for one in left if due[one.session] <= at), key=lambda one: one.order)
        found[best.session] = at
        left = [one for one in left if one is not best]
        at += rules.spacing
    return found
