"""Starts an attempt under a keeper, or finishes a start that an earlier daemon began before it died.

Such a start is in one of four states: its agent runs or has run, it is on record that it never ran, a guard is at work
on it, or nobody is. Only in the last one is it started again, and that is decided while holding the session's lock.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil

from rekindle.keeper import launch, lockfile
from rekindle.keeper.errors import ExecFailed, KeeperError, LockHeld, NoRoom, StartCrashed, StartInDoubt
from rekindle.ports.errors import OwnedError, RekindleError
from rekindle.ports.keepers import NoRoomToStart, ProgramMissing, StartedAttempt

log = logging.getLogger(__name__)

_LOOKS, _PAUSE = 100, 0.1


async def start(
    spec: launch.Spec,
    open_terminal: launch.OpenTerminal | None = None,
    through: tuple[str, ...] = (),
    forked_by: launch.Nursery | None = None,
) -> StartedAttempt:
    """Returns once the agent runs or has run. Raises RekindleError if it never did.

    If nothing comes of a start that goes through another program, or through a nursery, it is made without that.
    """
    doubt: KeeperError | None = None
    for _ in range(_LOOKS):
        found = _found(spec)
        if found is not None:
            return found
        try:
            if await asyncio.to_thread(_is_clear, spec):
                started = await asyncio.to_thread(
                    launch.spawn, spec, open_terminal=open_terminal, through=through, forked_by=forked_by
                )
                return StartedAttempt(spec.folder, started.identity.agent.pid)
        except StartCrashed as error:
            if not through and forked_by is None:
                raise RekindleError(f"the agent could not be started: {error}", "see `rekindle doctor`") from error
            what = "a scope of its own" if through else "the nursery"
            log.warning("%s: started without %s: %s", spec.folder, what, error)
            through, forked_by = (), None
        except LockHeld as error:
            doubt = error
        except StartInDoubt as error:
            doubt, forked_by = error, None
        except ExecFailed as error:
            kind = ProgramMissing if error.errno == errno.ENOENT else RekindleError
            _refuse_missing(spec, error)
            raise kind(f"the agent could not be started: {error}", "see `rekindle doctor`") from error
        except NoRoom as error:
            raise NoRoomToStart(f"the agent could not be started: {error}", "free some disk space") from error
        except (KeeperError, OSError) as error:
            raise RekindleError(f"the agent could not be started: {error}", "see `rekindle doctor`") from error
        await asyncio.sleep(_PAUSE)
    if isinstance(doubt, StartInDoubt):
        raise RekindleError(str(doubt), "try again") from doubt
    owner = launch.owner_pid(spec.lock)
    raise OwnedError(f"another process holds the session (pid {owner or 'unknown'})", "see `rekindle ps`") from doubt


def obstacle(spec: launch.Spec) -> str | None:
    """Why a start of this attempt would fail, as far as can be seen."""
    missing = _no_program(spec)
    if missing is not None:
        return missing
    place = os.path.dirname(spec.lock)
    while not os.path.exists(place):  # the first start makes it
        place = os.path.dirname(place)
    room = os.statvfs(place)
    if room.f_bavail * room.f_frsize < spec.room_ahead:
        return f"the disk of {place} has too little room"
    return None


def _no_program(spec: launch.Spec) -> str | None:
    program = spec.argv[0]
    if shutil.which(program, path=spec.env.get("PATH", os.defpath)) is not None:
        return None
    return f"there is no program {program}" + ("" if os.sep in program else " on the PATH")


def _refuse_missing(spec: launch.Spec, error: ExecFailed | None = None) -> None:
    """A start that failed because its program is missing says so, in the same words each time it is asked about."""
    missing = _no_program(spec)
    if missing is not None:
        raise ProgramMissing(missing, "see `rekindle agent list`", details={"program": spec.argv[0]}) from error


def _found(spec: launch.Spec) -> StartedAttempt | None:
    identity = launch.read_identity(spec.folder)
    if identity is not None:
        return StartedAttempt(spec.folder, identity.agent.pid)
    record = launch.read_exit(spec.folder)
    if record is not None:
        _refuse_missing(spec)
        raise RekindleError(f"the agent could not be started: {record.reason}", "see `rekindle doctor`")
    return None


def _is_clear(spec: launch.Spec) -> bool:
    """Whether nobody is working on the attempt; what a failed start left is removed.

    A guard of that start may still come, if it was slow. It finds the lock held, or it holds it and is the one that
    starts the attempt: ours is then refused, and we look again.
    """
    if not os.path.exists(spec.folder):
        return not lockfile.is_held(spec.lock)
    lock = lockfile.take(spec.lock)
    if lock is None:
        return False
    try:
        nothing_came_of_it = launch.read_identity(spec.folder) is None and launch.read_exit(spec.folder) is None
        if nothing_came_of_it:
            shutil.rmtree(spec.folder)
        return nothing_came_of_it
    finally:
        os.close(lock)
