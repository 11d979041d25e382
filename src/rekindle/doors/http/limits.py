"""How often one address may ask: a bucket that fills up again. Pure."""

from __future__ import annotations

from collections import OrderedDict

#: Requests a second, and how many may come at once.
PER_SECOND, AT_ONCE = 100.0, 400.0
#: Wrong secrets: one every three seconds, and how many may come at once.
WRONG_PER_SECOND, WRONG_AT_ONCE = 1 / 3, 20.0
_MOST_ADDRESSES = 1000


class Buckets:
    """One bucket for each address. Those that were not used for longest are dropped: they are full again by then."""

    def __init__(self, per_second: float, at_once: float) -> None:
        self._per_second = per_second
        self._at_once = at_once
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, address: str, now: float) -> bool:
        """Take one; False if there is none left."""
        left = self._now(address, now)
        self._left[address] = (max(left - 1.0, 0.0), now)
        self._left.move_to_end(address)
        while len(self._left) > _MOST_ADDRESSES:
            self._left.popitem(last=False)
        return left >= 1.0

    def has(self, address: str, now: float) -> bool:
        """Whether there is one left."""
        return self._now(address, now) >= 1.0

    def _now(self, address: str, now: float) -> float:
        left, since = self._left.get(address, (self._at_once, now))
        return min(self._at_once, left + max(now - since, 0.0) * self._per_second)
