"""Sessions that other hosts of the fleet have, as far as this one knows: from the shared store, and what hosts told.

Nothing here is more than what was last written. Whether an agent on another host still works is not seen from here: if
its host has been silent, that is what is said.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace

from rekindle.app import session_view
from rekindle.app.session_names import meant
from rekindle.app.session_view import AwayHost, SessionView
from rekindle.core.fleet.needs import is_fleet_job
from rekindle.core.quantities import duration
from rekindle.core.session.activity import needs_daemon
from rekindle.core.session.state import Session
from rekindle.ports.hosts import SILENT_SECONDS, Hosts
from rekindle.ports.placements import Placement, Placements


class Elsewhere:
    """Raises StoreError and NoSuchSession."""

    def __init__(self, placements: Placements, hosts: Hosts, clock: Callable[[], float]) -> None:
        self.host = placements.host
        self._placements = placements
        self._hosts = hosts
        self._clock = clock

    async def named(self, prefix: str) -> str | None:
        """The session of any host that an id, or the beginning of one, means; None: there is none."""
        found = await asyncio.to_thread(self._placements.named, prefix) if prefix else {}
        return meant(found, prefix) if found else None

    async def find(self, session: str) -> Placement | None:
        """A session of another host, or one that is still on its way here."""
        found = await asyncio.to_thread(self._placements.find, session)
        return found if found is not None and self._is_away(found) else None

    async def everything(self) -> list[Placement]:
        """All of them, oldest first."""
        return [one for one in await asyncio.to_thread(self._placements.everything) if self._is_away(one)]

    async def counts(self) -> dict[str, int]:
        """How many sessions each other host has. Reads none of them."""
        found = await asyncio.to_thread(self._placements.named, "")
        return dict(Counter(host for host in found.values() if host != self.host))

    async def silences(self) -> dict[str, float]:
        """How many seconds ago each host was seen."""
        return {one.host: one.seen_seconds_ago for one in await asyncio.to_thread(self._hosts.everything)}

    def shown(self, placed: Placement, silences: dict[str, float]) -> SessionView:
        """A session of another host as lists show it."""
        session = placed.session
        silent = silences.get(placed.host)
        is_heard = silent is not None and silent < SILENT_SECONDS
        view = session_view.shown(session, self._clock(), alive=session.is_up and is_heard, seen_seconds_ago=None)
        view = replace(view, host=placed.host)
        if is_heard or not _is_in_doubt(session):
            return view
        when = f"was last seen {duration(silent)} ago" if silent is not None else "was never seen"
        is_job = is_fleet_job(session.job)  # the fleet's engine gives that to another host
        return replace(
            view,
            status="unknown",
            executor="unknown",
            is_running=False,
            needs_resume=False,
            reason="",
            needs_you=not is_job,
            why=f"host {placed.host} {when}; this host cannot see whether the agent works",
            next=f"rekindle job show {session.job}" if is_job else _takeover(session),
            waits_until=None,
        )

    async def one_shown(self, placed: Placement) -> SessionView:
        """The same, for one."""
        return self.shown(placed, await self.silences())

    async def told(self, placed: Placement) -> tuple[SessionView, AwayHost]:
        """The same, with what is known of its host."""
        silences = await self.silences()
        silent = silences.get(placed.host)
        is_gone = silent is None or silent >= SILENT_SECONDS
        return self.shown(placed, silences), AwayHost(placed.host, silent, is_gone, _takeover(placed.session))

    def _is_away(self, placed: Placement) -> bool:
        return placed.host != self.host or not placed.is_in_place


def _takeover(session: Session) -> str:
    return f"rekindle fleet takeover {session.id} --host-is-gone"


def _is_in_doubt(session: Session) -> bool:
    """Whether a host that is not seen may have gone on with it: what rests there stays as it was written."""
    return needs_daemon(session)
