"""Who holds a run: a lock for a process of ours, a record of the process for an agent that drives itself.

A run without `session.end` is interrupted only if nobody holds it any more. An owner on another host is unknown, and
unknown is treated as alive: only that host can tell. Light standard library only (the hook client imports this).
"""

from __future__ import annotations

import json
import os

from rekindle import files
from rekindle.adapters.machine import process_identity

LOCK_NAME = "owner.lock"
RECORD_NAME = "owner.json"
#: Somebody who only asks who holds the lock has it for a moment.
_PATIENCE = 0.2
#: A record has a few hundred bytes.
_LONGEST = 1 << 16


class Owner:
    """The process that holds a run."""

    __slots__ = ("pid", "sid", "verdict")

    def __init__(self, sid: str, pid: int | None, verdict: str) -> None:
        self.sid = sid
        self.pid = pid
        self.verdict = verdict


class Held:
    """A feature's lock that we hold. It ends with the process, however that ends."""

    def __init__(self, fd: int, folder: str, sid: str) -> None:
        self._fd = fd
        self._folder = folder
        self._sid = sid

    def claim(self) -> None:
        """Record that this process drives the run: from now on its journal may mention it."""
        record(self._folder, self._sid, os.getpid())

    def release(self) -> None:
        """Release the feature: the process lives on, so the record has to be removed as well."""
        forget(self._folder, self._sid)
        os.close(self._fd)


def hold(folder: str, sid: str) -> Held | None:
    """Keep everybody else away from a feature, before its run `sid` is begun; None if somebody holds it."""
    fd = os.open(os.path.join(folder, LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        held = files.lock_within(fd, _PATIENCE)
    except BaseException:
        os.close(fd)
        raise
    if not held:
        os.close(fd)
        return None
    return Held(fd, folder, sid)


def record(folder: str, sid: str, pid: int) -> None:
    """Record that the process `pid` drives the run `sid`."""
    who = process_identity.identity(pid)
    if who is None:
        return
    files.replace(os.path.join(folder, RECORD_NAME), json.dumps({"sid": sid, **who}).encode())


def forget(folder: str, sid: str) -> None:
    """The run has ended: nobody owns it any more."""
    path = os.path.join(folder, RECORD_NAME)
    try:
        kept = json.loads(files.read_short(path, _LONGEST))
        if isinstance(kept, dict) and kept.get("sid") == sid:
            os.unlink(path)
    except (OSError, ValueError, RecursionError):
        return


def owner(folder: str, *, lock_is_ours: bool = False) -> Owner | None:
    """The live (or unknown) owner of a feature's run; None if there is none any more.

    Set `lock_is_ours` if you hold the lock, so that it is not mistaken for another's.
    """
    try:
        kept = json.loads(files.read_short(os.path.join(folder, RECORD_NAME), _LONGEST))
        sid, pid = kept["sid"], kept["pid"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(sid, str) or not isinstance(pid, int):
        return None
    found = process_identity.verdict(kept)
    if found == "dead" and not lock_is_ours and files.is_locked(os.path.join(folder, LOCK_NAME)):
        found = "alive"
    return Owner(sid, pid, found) if found != "dead" else None
