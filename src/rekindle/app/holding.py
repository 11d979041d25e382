"""A session that waits, and a person who wants it otherwise: on hold, or at once."""

from __future__ import annotations

from rekindle.app.service import Service
from rekindle.app.session_view import SessionView
from rekindle.core.session import facts as f
from rekindle.core.session.activity import is_waiting
from rekindle.core.session.state import TERMINAL
from rekindle.ports.errors import UsageError
from rekindle.runtime.supervisor import Supervisor


class Holding:
    """Raises RekindleError. `Service.resume` lifts a hold."""

    def __init__(self, service: Service, supervisor: Supervisor) -> None:
        self._service = service
        self._supervisor = supervisor
        self._engine = supervisor.engine

    async def hold(self, session: str, *, by: str) -> SessionView:
        """Do nothing automatically about a session until it is resumed. A running turn goes on to its end."""
        found = await self._service.find(session)
        if found.state in TERMINAL:
            raise UsageError(f"session {found.id} is {found.state.lower()}", "there is nothing to hold")
        held = await self._supervisor.record(found.id, f.HoldAsked(at=self._engine.clock(), by=by))
        return self._service.shown(held)

    async def hurry(self, session: str, *, by: str) -> SessionView:
        """Let a session that waits for a certain time go on now."""
        found = await self._service.find(session)
        if found.state in TERMINAL or not is_waiting(found):
            raise UsageError(f"session {found.id} is not waiting for anything", "see `rekindle ps`")
        hurried = await self._supervisor.record(found.id, f.Hurried(at=self._engine.clock(), by=by))
        return self._service.shown(hurried)
