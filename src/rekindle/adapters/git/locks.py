"""Watches lock files of git: looks up in /proc who could have made one, and whether they are still alive.

No clock is trusted: a lock counts as left behind if it was the same file for as long as we watched it, and none of the
processes that could have made it is there any more. One that was started after we first saw it cannot have made it.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import threading
import time
from collections.abc import Collection, Iterator, Sequence

from rekindle.core.git_locks import Lock, PossibleHolder
from rekindle.files import is_below
from rekindle.keeper.processes import ProcessId, all_pids, is_running, look

#: How long a lock is watched before it counts as left behind, and how long to wait for one whose creator may be alive.
WATCHED = 2.0
PATIENCE = 5.0
_PAUSE = 0.05
_REMOVING = threading.Lock()


def watch(paths: Sequence[str], folders: Collection[str]) -> list[Lock]:
    """The lock files that do not go away by themselves. `folders`: where the repository and its trees are."""
    first = {path: seen for path in paths if (seen := _identity(path)) is not None}
    began = time.monotonic()
    suspects = {path: tuple(_suspects(path, folders)) for path in first}
    stays = dict.fromkeys(first, True)
    while first:
        time.sleep(_PAUSE)
        for path in list(first):
            now = _identity(path)
            if now is None:
                del first[path]
            elif now != first[path]:
                first[path], stays[path], suspects[path] = now, False, tuple(_suspects(path, folders))
        passed = time.monotonic() - began
        alive = {path: tuple(one for one in suspects[path] if _lives(one)) for path in first}
        settled = all(stays[path] and not alive[path] for path in first)
        if passed >= PATIENCE or (passed >= WATCHED and settled):
            return [found for path in first if (found := _lock(path, first[path], alive[path], stays=stays[path]))]
    return []


def remove(lock: Lock) -> bool:
    """Remove a lock that was watched, unless it is gone or another one by now."""
    with _REMOVING:  # of two threads that have watched it, the second must not take what the first one's git has made
        if _identity(lock.path) != lock.identity:
            return False
        os.unlink(lock.path)
        return True


def _lives(one: PossibleHolder) -> bool:
    return is_running(ProcessId(one.pid, one.start))


def _identity(path: str) -> tuple[int, ...] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def _lock(path: str, identity: tuple[int, ...], holders: tuple[PossibleHolder, ...], *, stays: bool) -> Lock | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    try:
        owner = pwd.getpwuid(found.st_uid).pw_name
    except KeyError:
        owner = f"user {found.st_uid}"
    provable = os.path.exists("/proc/self/fd")
    return Lock(path, owner, time.time() - found.st_mtime, identity, holders, stays, provable)


def _suspects(path: str, folders: Collection[str]) -> Iterator[PossibleHolder]:
    """Every process that may have made a lock: those that have it open, and every git that works in the repository.

    A git of another user counts too: we cannot tell where it works.
    """
    if not os.path.isdir("/proc/self"):
        return
    real = os.path.realpath(path)
    for pid in all_pids():
        process = look(pid)
        if process is None or process.state in "ZX":
            continue
        opens = real in _opened(pid)
        if opens or (process.comm.startswith("git") and _is_at(pid, folders)):
            yield PossibleHolder(pid, process.id.start, process.comm, opens)


def _opened(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def _is_at(pid: int, folders: Collection[str]) -> bool:
    try:
        where = os.readlink(f"/proc/{pid}/cwd")
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(is_below(where, folder) for folder in folders)


def workplaces(root: str, common: str) -> set[str]:
    """The folders of a repository and of all its worktrees."""
    found = {os.path.realpath(root), os.path.realpath(common)}
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(common, "worktrees")):
            path = os.path.join(common, "worktrees", name, "gitdir")
            with contextlib.suppress(OSError), open(path, "rb") as file:
                found.add(os.path.realpath(os.path.dirname(os.fsdecode(file.read().strip()))))
    return found
