"""What comes from the engine, read with care: whoever is in its namespace can start and send anything.

What is not ours is refused for good, and with a reason. To try the same again for ever would say nothing to anybody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from rekindle.core.fleet.needs import is_fleet_job
from rekindle.ports.fleet_engine import DriveWish, FleetWork

#: A heartbeat outside of these is not one of a fleet.
_SHORTEST, _LONGEST = 1.0, 86400.0
_LONGEST_NAME: Final = 200


class ToldWork(FleetWork, frozen=True):
    """A job as a workflow gets it: `drives` is how many there were, `of` the schedule, `due` its time."""

    drives: int = 0
    of: str = ""
    due: float | None = None


class ToldDrive(msgspec.Struct, frozen=True):
    """What a workflow asks a host for."""

    job: str
    number: int
    heartbeat: float
    cancel_by: str = ""
    wish: DriveWish | None = None
    of: str = ""
    due: float | None = None


#: What these types consist of is looked up once, here: inside of a workflow's sandbox their module cannot be searched.
_LOOKED_UP: Final = tuple(msgspec.json.Decoder(one) for one in (ToldWork, ToldDrive, DriveWish))


def why_not_work(told: Any) -> str:
    """Why this is not a job of a fleet; empty: it is one."""
    try:
        work = msgspec.convert(told, ToldWork)
    except msgspec.ValidationError as error:
        return str(error)
    return why_not_job(work.job, work.heartbeat)


def why_not_job(job: str, heartbeat: float) -> str:
    """Why nobody can drive this; empty: a host can."""
    if not is_fleet_job(job):
        return "its id is not one of a fleet's job"
    if not math.isfinite(heartbeat) or not _SHORTEST <= heartbeat <= _LONGEST:
        return f"its heartbeat is {heartbeat:g} s"
    return ""


def wish_in(words: Sequence[Any]) -> dict[str, Any] | None:
    """The wish that a signal brings along, if it is one."""
    try:
        wish = msgspec.convert(words[1], DriveWish) if len(words) == 2 else None
    except msgspec.ValidationError:
        return None
    return None if wish is None else msgspec.to_builtins(wish)


def stop_in(words: Sequence[Any]) -> tuple[str, bool] | None:
    """Who wants a job cancelled, and whether a host has begun it; None: that is no such signal."""
    match list(words):
        case [str(by), bool(has_begun)]:
            return by[:_LONGEST_NAME], has_begun
        case _:
            return None
