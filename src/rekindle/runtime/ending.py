"""Ends an agent and waits until it is gone: its successor must not meet it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor

_SECONDS = 60.0


async def end_agent(
    supervisor: Supervisor, session: str, *, by: str, to: Literal["asleep", "cancelled", "completed"]
) -> None:
    """End a session's agent. One that has not come up yet comes up first: nothing blocks it."""
    engine = supervisor.engine
    await _until(engine, session, lambda now: bool(now.attempts), f"the agent of session {session} never began")
    await supervisor.record(session, f.StopAsked(at=engine.clock(), by=by, to=to))
    await _until(engine, session, lambda now: not now.is_up, f"the agent of session {session} does not end")


async def _until(engine: Engine, session: str, holds: Callable[[Session], bool], otherwise: str) -> None:
    """Wait. Loads the session: a sleeping one is not in memory, and an ended one may be dropped at any moment."""
    deadline = asyncio.get_running_loop().time() + _SECONDS
    while not holds(await engine.load(session)):
        if asyncio.get_running_loop().time() > deadline:
            raise RekindleError(otherwise, "see `rekindle ps`")
        await asyncio.sleep(0.02)
