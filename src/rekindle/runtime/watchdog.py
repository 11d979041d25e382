"""Ends agents whose turn does not go on or takes too long: they count as cut off, and come back as their policy says.

Agents notice a stalled stream late or never, so the time that they may be silent is measured here.
"""

from __future__ import annotations

import asyncio
import logging

from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)

#: A look that comes so much too late was held up: what agents said meanwhile may not have been read yet.
_LATE_SECONDS = 10.0


def why_given_up(session: Session, now: float, silent_seconds: float) -> str | None:
    """The reason to end the session's agent, in words; None: it may go on. A question waits for a person for ever."""
    attempt = session.attempt
    if attempt is None or attempt.status != "ready" or attempt.given_up:
        return None
    turn = session.turn
    if turn is None or turn.state == "cut":
        return None
    if any(not asked.answered for asked in session.permissions):
        return None
    limits = session.limits
    if limits.turn_seconds is not None and now - turn.sent_at > limits.turn_seconds:
        return f"its turn took longer than {limits.turn_seconds:g} s"
    if limits.stall_seconds is not None and silent_seconds > limits.stall_seconds:
        return f"it said nothing for {limits.stall_seconds:g} s, with no tool running"
    return None


async def watch(supervisor: Supervisor, seconds: float = 1.0) -> None:
    """Look around for ever. After a sleep of the machine, or of ours, nobody is blamed for the silence."""
    looked = supervisor.engine.clock()
    while True:
        await asyncio.sleep(seconds)
        before, looked = looked, supervisor.engine.clock()
        if looked - before > seconds + _LATE_SECONDS:
            supervisor.forgive_silence()
        for session in supervisor.engine.sessions():
            now = supervisor.engine.clock()
            why = why_given_up(session, now, supervisor.silent_seconds(session.id))
            if why is None or session.attempt is None:
                continue
            try:
                await supervisor.record(session.id, f.GivenUp(at=now, attempt=session.attempt.number, why=why))
            except RekindleError as error:
                log.warning("%s could not be given up: %s", session.id, error.message)
