"""What was said in a session of another host, as far as it was copied off that host, and how old that is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from rekindle.app.session_names import NoSuchSession
from rekindle.core.off_host import behind
from rekindle.ports.off_host import OffHostCopies
from rekindle.ports.placements import Placements
from rekindle.runtime.turns import Turns


class CopiedSession(msgspec.Struct, frozen=True):
    """Where a session can be read on this host. `here`: it is this host's own, and there is no copy to read.

    `behind`: how many seconds of it the copy may lack; None: nothing was copied yet.
    """

    id: str
    host: str
    here: bool
    folder: str = ""
    behind: float | None = None


class FleetReading:
    """Raises RekindleError."""

    def __init__(self, placements: Placements, copies: OffHostCopies, clock: Callable[[], float]) -> None:
        self._placements = placements
        self._copies = copies
        self._clock = clock
        self._turns = Turns()

    async def copy(self, session: str, *, even_here: bool = False) -> CopiedSession:
        """Bring the copy of a session of another host up to date. `even_here`: whoever began with the copy goes on."""
        found = await asyncio.to_thread(self._placements.find, session)
        if found is None:
            raise NoSuchSession(f"no session of the fleet is called {session}", "`rekindle fleet status` lists them")
        here = found.host == self._placements.host and found.is_in_place
        if here and not even_here:
            return CopiedSession(session, found.host, here)
        async with self._turns.of(session):
            folder = await asyncio.to_thread(self._copies.read, session, self._clock())
        now = found.session
        late = behind(found.copied_at, self._clock(), is_over=not now.is_up, changed_at=now.changed_at)
        return CopiedSession(session, found.host, here, folder, late)
