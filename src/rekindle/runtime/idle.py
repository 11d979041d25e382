"""Puts agents to sleep that have nothing to do: a session keeps its conversation, and a prompt wakes it."""

from __future__ import annotations

import asyncio

from rekindle.core.session import facts as f
from rekindle.core.session.machine import Session, State
from rekindle.runtime.supervisor import Supervisor


def is_idle(session: Session, now: float, seconds: float) -> bool:
    """Whether a session's agent is up, at rest, and has been so for long enough."""
    attempt = session.attempt
    return (
        attempt is not None
        and attempt.status == "ready"
        and session.state is State.WAITING_FOR_INPUT
        and not session.queued
        and session.turn is None
        and now - session.changed_at >= seconds
    )


async def put_idle_to_sleep(supervisor: Supervisor, seconds: float) -> None:
    """Look around for ever."""
    while True:
        await asyncio.sleep(min(5.0, max(0.2, seconds / 4)))
        now = supervisor.engine.clock()
        for session in supervisor.engine.sessions():
            if is_idle(session, now, seconds):
                await supervisor.record(session.id, f.StopAsked(at=now, by="rekindle", to="asleep"))
