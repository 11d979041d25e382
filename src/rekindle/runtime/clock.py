"""Tells sessions that their time has come: timers that are due, and turns that have gone silent.

Timers are facts of the session, and an agent's silence is counted from the last byte in its spool, so no clock
restarts with the daemon. What follows is decided in `core.session.react`.
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

#: A check this late was held up: agents' output from the meantime may not have been read yet.
_LATE_SECONDS = 10.0


async def keep_time(supervisor: Supervisor, seconds: float = 1.0) -> None:
    """Check forever. Time that the machine slept does not count as silence."""
    engine = supervisor.engine
    steady = engine.steady or engine.clock
    counted = steady()
    while True:
        await asyncio.sleep(seconds)
        looked = engine.clock()
        before, counted = counted, steady()
        slept = counted - before - seconds
        if abs(slept) > _LATE_SECONDS:
            supervisor.forgive_silence()
        for name in [session.id for session in engine.at_hand()]:
            try:
                if engine.is_clock_set(name):
                    await supervisor.record(name)  # its deadlines move, and may be due
                await _look_at(supervisor, name, looked, slept)
            except RekindleError as error:
                log.warning("%s could not be told that its time has come: %s", name, error.message)
        try:
            await supervisor.settle_doubts()
        except RekindleError as error:
            log.warning("what was recorded last could not be read: %s", error.message)
        supervisor.release()


async def _look_at(supervisor: Supervisor, name: str, now: float, slept: float) -> None:
    session = supervisor.engine.in_memory(name)
    if session is None or not supervisor.is_followed(name):
        return  # its output has not been read yet
    was_away = abs(slept) > _LATE_SECONDS
    found = _put_off(session, now, slept) if was_away else _due(session, now, supervisor)
    if found is not None:
        await supervisor.record(name, found)


def _due(session: Session, now: float, supervisor: Supervisor) -> f.Due | f.Stalled | None:
    due = next_due(session)
    if due is not None and due[1] <= now:
        return f.Due(at=now, timer=due[0], until=due[1])
    attempt, most = session.attempt, session.limits.stall_seconds
    if attempt is None or most is None or not is_in_turn(session):
        return None
    silent = supervisor.silent_seconds(session.id)
    return f.Stalled(at=now, attempt=attempt.number, seconds=silent) if silent > most else None


def _put_off(session: Session, now: float, late: float) -> f.TimerSet | None:
    """An agent that was starting while the machine slept gets its full time again; a turn or proof what it lost."""
    if "start" in session.timers:
        return f.TimerSet(at=now, timer="start", until=now + session.rules.start_seconds)
    names: tuple[f.TimerName, ...] = ("turn", "proof")
    held_up = next((name for name in names if name in session.timers), None)
    return f.TimerSet(at=now, timer=held_up, until=session.timers[held_up] + late) if held_up is not None else None
