"""Takes a snapshot when a turn or an agent ends, and now and then during a long turn; drops old ones.

Listens to the engine; the loop never waits for it. At most one snapshot per session is taken at a time; whatever
happens meanwhile adds one more, not many. One that a stop or a crash cut off is taken at the next start.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence

from rekindle.core.session import facts as f
from rekindle.core.session.idling import is_of_idling
from rekindle.core.session.state import Session
from rekindle.core.snapshot_reasons import attempt_ended, ends, turn_ended
from rekindle.ports.errors import RekindleError
from rekindle.ports.snapshots import Snapshots
from rekindle.ports.store import Recorded
from rekindle.runtime.engine import Engine

log = logging.getLogger(__name__)

BETWEEN_SECONDS = 180.0
THINNING_SECONDS = 6 * 3600.0
#: How long stopping the daemon waits for a snapshot; a slower one is taken at the next start.
GRACE_SECONDS = 2.0


class TimeMachine:
    """Belongs to one engine, in its loop."""

    def __init__(self, engine: Engine, snapshots: Snapshots) -> None:
        self._engine = engine
        self._snapshots = snapshots
        self._ends: dict[str, tuple[int, int]] = {}
        self._begun: set[str] = set()
        self._wanted: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._told: set[tuple[str, str]] = set()
        self._closing = False

    async def begin(self) -> None:
        """Start listening, and take the snapshots that the previous daemon still owed."""
        for session in self._engine.at_hand():
            self._ends[session.id] = ends(session)
            self._begun.add(session.id)
        self._engine.listeners.append(self._changed)
        for name, reason in self._snapshots.owed().items():
            if await self._engine.knows(name):
                self._want(name, reason)

    async def close(self, grace: float = GRACE_SECONDS) -> None:
        """Request no more snapshots. Those in progress get a moment to finish."""
        with contextlib.suppress(ValueError):
            self._engine.listeners.remove(self._changed)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self.settle()
        self._closing = True
        self._snapshots.end()
        await self.settle()

    async def settle(self) -> None:
        """Wait until no snapshot is in progress."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def look_around(self, seconds: float = BETWEEN_SECONDS) -> None:
        """Request one now and then while a turn runs, forever: a long turn may be cut off by a crash."""
        while True:
            await asyncio.sleep(seconds)
            for session in self._engine.at_hand():
                if session.is_up and session.turn is not None and session.id not in self._wanted:
                    self._want(session.id, "a turn is running")

    async def let_go(self, seconds: float = THINNING_SECONDS, first: float = BETWEEN_SECONDS) -> None:
        """Drop old ones now and then, forever, one session after another."""
        await asyncio.sleep(first)
        while True:
            for session in await self._engine.all_sessions():
                try:
                    await asyncio.to_thread(self._snapshots.thin, session, self._engine.clock())
                except (RekindleError, OSError) as error:
                    log.warning("%s: its snapshots were not thinned: %s", session.id, error)
            await asyncio.sleep(seconds)

    def _changed(self, session: Session, _recorded: Sequence[Recorded]) -> None:
        turns, attempts = ends(session)
        # A session that was imported with its history has its snapshots already.
        turns_before, attempts_before = self._ends.get(session.id, (turns, attempts))
        self._ends[session.id] = (turns, attempts)
        if session.id not in self._begun and session.is_up:
            self._begun.add(session.id)
            if attempts == 0:
                self._owe(session.id, "the session begins")
        if attempts > attempts_before:
            self._owe(session.id, attempt_ended(attempts))
        elif turns > turns_before:
            self._owe(session.id, turn_ended(turns))

    def _owe(self, session: str, reason: str) -> None:
        self._snapshots.owe(session, reason)
        self._want(session, reason)

    def _want(self, session: str, reason: str) -> None:
        self._wanted[session] = reason
        if session not in self._tasks:
            self._tasks[session] = asyncio.ensure_future(self._serve(session))

    async def _serve(self, session: str) -> None:
        try:
            while (reason := self._wanted.pop(session, None)) is not None:
                await self._one(session, reason)
        finally:
            self._tasks.pop(session, None)

    async def _one(self, session: str, reason: str) -> None:
        try:
            state = await self._engine.load(session)
            made = await asyncio.to_thread(self._snapshots.take, state, reason, self._engine.clock())
            if made is not None:
                await self._tell_of_work(session, made.id)
        except (RekindleError, OSError, ValueError) as error:
            if self._closing:
                return
            why = error.message if isinstance(error, RekindleError) else str(error)
            log.warning("%s: no snapshot: %s", session, why)
            await self._tell_once(session, f"no snapshot of the work tree could be taken: {why}")
        if session not in self._wanted:
            self._snapshots.paid(session)

    async def _tell_of_work(self, session: str, snapshot: str) -> None:
        """Visible work refills the budget spent on an idle agent. Nobody else needs to know."""
        changed = f.FilesChanged(at=self._engine.clock(), snapshot=snapshot)
        await self._engine.record_if(session, lambda now: any(is_of_idling(name) for name in now.spent), changed)

    async def _tell_once(self, session: str, message: str) -> None:
        if (session, message) in self._told or message in (await self._engine.load(session)).notices:
            return
        self._told.add((session, message))
        with contextlib.suppress(RekindleError):
            await self._engine.record(session, f.Noticed(at=self._engine.clock(), message=message))
