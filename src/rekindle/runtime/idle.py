"""Puts agents to sleep that have nothing to do: a session keeps its conversation, and a prompt wakes it."""

from __future__ import annotations

import asyncio
import logging
import time

from rekindle.core.session import facts as f
from rekindle.core.session.state import Session, State
from rekindle.ports.errors import RekindleError
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)


def is_idle(session: Session) -> bool:
    """Whether a session's agent is up and at rest."""
    attempt = session.attempt
    return (
        attempt is not None
        and attempt.status == "ready"
        and session.state is State.WAITING_FOR_INPUT
        and not session.queued
        and session.turn is None
        and not session.terminal  # somebody may be using it
    )


async def put_idle_to_sleep(supervisor: Supervisor, seconds: float) -> None:
    """Look around for ever."""
    since: dict[tuple[str, float], float] = {}  # by the monotonic clock: a jump of the wall clock puts nobody to sleep
    while True:
        await asyncio.sleep(min(5.0, max(0.2, seconds / 4)))
        now = time.monotonic()
        idle = {(session.id, session.changed_at) for session in supervisor.engine.sessions() if is_idle(session)}
        since = {key: since.get(key, now) for key in idle}
        for (name, _), began in since.items():
            if now - began >= seconds:
                try:
                    asleep = f.StopAsked(at=supervisor.engine.clock(), by="rekindle", to="asleep")
                    await supervisor.record(name, asleep)
                except RekindleError as error:
                    log.warning("%s could not be put to sleep: %s", name, error.message)
