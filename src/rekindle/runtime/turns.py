"""One holder at a time for each name. A lock lives exactly as long as somebody holds it or waits for it.

`asyncio.Lock.locked` cannot tell: a lock that was just released is free, although its next holder is already waiting.
Dropping it then would let two in at once.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary


class Turns:
    """Belongs to one loop."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, name: str) -> asyncio.Lock:
        """The lock of a name, for `async with`."""
        found = self._locks.get(name)
        if found is None:
            found = self._locks[name] = asyncio.Lock()
        return found

    def is_wanted(self, name: str) -> bool:
        """Whether somebody holds it, or waits for it."""
        return name in self._locks
