"""Tells sessions that their time has come: timers that are due, and turns in which nothing happens any more.

Timers are facts of the session, and the silence of an agent is counted from the last byte in its spool, so that no
clock starts over with the daemon. What follows is decided in `core.session.react`.
"""

from __future__ import annotations

import asyncio
import logging

from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.core.session.timing import is_in_turn, next_due
from rekindle.ports.errors import RekindleError
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)

#: A look that comes so much too late was held up: what agents said meanwhile may not have been read yet.
_LATE_SECONDS = 10.0


async def keep_time(supervisor: Supervisor, seconds: float = 1.0) -> None:
    """Look around for ever. After a sleep of the machine, or of ours, nobody is blamed for the time that passed."""
    looked = supervisor.engine.clock()
    while True:
        await asyncio.sleep(seconds)
        before, looked = looked, supervisor.engine.clock()
        late = looked - before - seconds
        slept = late > _LATE_SECONDS
        if slept:
            supervisor.forgive_silence()
        for session in supervisor.engine.at_hand():
            if not supervisor.is_followed(session.id):
                continue  # nobody has read yet what it said
            found = _put_off(session, looked, late) if slept else _due(session, looked, supervisor)
            if found is None:
                continue
            try:
                await supervisor.record(session.id, found)
            except RekindleError as error:
                log.warning("%s could not be told that its time has come: %s", session.id, error.message)
        supervisor.release()


def _due(session: Session, now: float, supervisor: Supervisor) -> f.Due | f.Stalled | None:
    due = next_due(session)
    if due is not None and due[1] <= now:
        return f.Due(at=now, timer=due[0], until=due[1])
    attempt, silent = session.attempt, supervisor.silent_seconds(session.id)
    most = session.limits.stall_seconds
    if attempt is None or most is None or silent <= most or not is_in_turn(session):
        return None
    return f.Stalled(at=now, attempt=attempt.number, seconds=silent)


def _put_off(session: Session, now: float, late: float) -> f.TimerSet | None:
    """An agent that was starting while the machine slept gets all the time again, and a turn what the sleep took."""
    if "start" in session.timers:
        return f.TimerSet(at=now, timer="start", until=now + session.rules.start_seconds)
    if "turn" in session.timers:
        return f.TimerSet(at=now, timer="turn", until=session.timers["turn"] + late)
    return None
