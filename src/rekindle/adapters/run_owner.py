"""Who holds a run: a lock for a process of ours, a record of the process for an agent that drives itself.

A run without `session.end` is interrupted only if nobody holds it any more. An owner on another host is unknown, and
unknown is treated as alive: only that host can tell. Light standard library only (the hook client imports this).
"""

from __future__ import annotations

import fcntl
import json
import os

from rekindle.adapters import process_identity

LOCK_NAME = "owner.lock"
RECORD_NAME = "owner.json"


class Owner:
    """The process that holds a run."""

    __slots__ = ("pid", "sid", "verdict")

    def __init__(self, sid: str, pid: int | None, verdict: str) -> None:
        self.sid = sid
        self.pid = pid
        self.verdict = verdict


class Held:
    """A run's lock in our hands. It goes with the process, however that ends."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        """Let go of the run."""
        os.close(self._fd)


def hold(folder: str, sid: str) -> Held | None:
    """Take a feature's run for this process; None if another process holds one."""
    fd = os.open(os.path.join(folder, LOCK_NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    record(folder, sid, os.getpid())
    return Held(fd)


def record(folder: str, sid: str, pid: int) -> None:
    """Write down that the process `pid` drives the run `sid`."""
    who = process_identity.identity(pid)
    if who is None:
        return
    path = os.path.join(folder, RECORD_NAME)
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"sid": sid, **who}, file)
    os.replace(temporary, path)


def owner(folder: str) -> Owner | None:
    """The live (or unknown) owner of a feature's run; None if there is none any more."""
    try:
        with open(os.path.join(folder, RECORD_NAME), "rb") as file:
            kept = json.loads(file.read())
        sid, pid = kept["sid"], kept["pid"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(sid, str):
        return None
    if _is_locked(os.path.join(folder, LOCK_NAME)):
        return Owner(sid, pid, "alive")
    found = process_identity.verdict(kept)
    return Owner(sid, pid, found) if found != "dead" else None


def _is_locked(path: str) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False
