"""One host of a fleet: copies its sessions off the host as they go, and lets go of those that another host has taken.

It decides about no other host: who is dead, and who takes over, is the business of the fleet's engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from rekindle.core.off_host import behind
from rekindle.core.session.state import Session
from rekindle.ports.blobs import BlobError, BlobFenced
from rekindle.ports.errors import RekindleError
from rekindle.ports.off_host import OffHostCopies
from rekindle.ports.placements import CommitFeed, Placements
from rekindle.ports.store import StoreError
from rekindle.runtime.supervisor import Supervisor
from rekindle.runtime.turns import Turns

log = logging.getLogger(__name__)

#: The time between two looks at what is new.
SHIP_SECONDS = 1.0
#: How long to wait for news of other hosts before looking anyway.
LOOK_SECONDS = 2.0
#: How long to wait for the vault to have the last words of an agent that has ended.
LAG_SECONDS = 15.0


class FleetMember:
    """Belongs to one daemon. `ship` and `watch` have to be kept running."""

    def __init__(self, supervisor: Supervisor, placements: Placements, copies: OffHostCopies, feed: CommitFeed) -> None:
        self._supervisor = supervisor
        self._engine = supervisor.engine
        self._placements = placements
        self._copies = copies
        self._feed = feed
        #: when a session was last copied, and which of its changes that was
        self._copied: dict[str, tuple[float, float]] = {}
        self._failing: dict[str, str] = {}
        #: sessions that have changed since they were copied; some may be in memory no longer
        self._changed: set[str] = set()
        self._engine.listeners.append(lambda session, _facts: self._changed.add(session.id))
        self._bytes: dict[str, tuple[int, int]] = {}
        #: a session is copied by one at a time: each goes on where the one before it has stopped
        self._turns = Turns()

    async def ship(self) -> None:
        """Copy what is new of every session that has something new, for ever. What was left undone comes first."""
        is_known = False
        while True:
            try:
                if not is_known:
                    self._changed |= set(await asyncio.to_thread(self._placements.uncopied))
                    is_known = True
                await self._ship_all()
            except StoreError as error:
                log.warning("what has to be copied off this host is not known: %s", error.message)
            await asyncio.sleep(SHIP_SECONDS)

    async def watch(self) -> None:
        """Let go of sessions that another host has taken, as soon as that is known, for ever."""
        while True:
            try:
                await asyncio.to_thread(self._feed.wait, LOOK_SECONDS)
                own = set(await self._engine.store.ask(lambda store: store.named("")))
            except (StoreError, BlobError) as error:
                log.warning("what other hosts do is not known: %s", error.message)
                await asyncio.sleep(LOOK_SECONDS)
                continue
            for session in self._engine.at_hand():
                if session.id not in own and await self._is_elsewhere(session.id):
                    await self._supervisor.give_up(session.id)
            await asyncio.sleep(0.05)  # so that many commits in a row cost one look

    def behind(self, session: Session) -> float | None:
        """How many seconds the copy of a session is behind; None if there is none yet."""
        at, _ = self._copied.get(session.id, (None, 0.0))
        return behind(at, self._engine.clock(), is_over=not session.is_up, changed_at=session.changed_at)

    def copied(self, session: str) -> tuple[int, int]:
        """How many bytes of a session this daemon has copied off the host, and its newest snapshot that it has."""
        return self._bytes.get(session, (0, 0))

    async def ship_now(self, session: Session) -> bool:
        """Copy what is new of a session at once; whether all that there was of it is off this host now."""
        if session.attempts:
            await self._ship(session)
        return not self._is_due(session)

    async def close(self) -> None:
        """Copy what is left, if that can be done at once."""
        with contextlib.suppress(StoreError):
            await self._ship_all()

    async def _ship_all(self) -> None:
        """A session that has changed and gone to sleep since may have left the memory: then the store has it."""
        for session in self._engine.at_hand():
            if self._is_due(session):
                await self._ship(session)
        here = {one.id for one in self._engine.at_hand()}
        for name in self._changed - here:
            found = await self._engine.store.ask(lambda store, name=name: store.session(name))  # type: ignore[misc]
            if found is None or not self._is_due(found):
                self._changed.discard(name)
            else:
                await self._ship(found)

    def _is_due(self, session: Session) -> bool:
        if not session.attempts:
            return False
        return session.is_up or self._copied.get(session.id, (0.0, -1.0))[1] != session.changed_at

    async def _ship(self, session: Session) -> None:
        try:
            async with self._turns.of(session.id):
                done = await asyncio.to_thread(self._copies.ship, session, self._engine.clock())
            await asyncio.to_thread(self._placements.copied, session.id, done.at)
        except BlobFenced:
            if await self._is_elsewhere(session.id):
                await self._supervisor.give_up(session.id)
        except RekindleError as error:
            if self._failing.get(session.id) != error.message:
                log.warning("%s could not be copied off this host: %s", session.id, error.message)
            self._failing[session.id] = error.message
        except OSError as error:
            log.warning("%s could not be copied off this host: %s", session.id, error)
        else:
            lags = done.lags and self._engine.clock() - session.changed_at < LAG_SECONDS
            self._copied[session.id] = (done.at, -1.0 if lags else session.changed_at)
            self._bytes[session.id] = (self.copied(session.id)[0] + done.bytes, done.tree)
            if self._failing.pop(session.id, None) is not None:
                log.info("%s is copied off this host again", session.id)

    async def _is_elsewhere(self, session: str) -> bool:
        """Whether another host has it. If nobody can tell, it stays: its writes are refused if it must not."""
        try:
            found = await asyncio.to_thread(self._placements.find, session)
        except StoreError:
            return False
        return found is not None and found.host != self._placements.host
