"""Processes as /proc shows them: who they are, who descends from whom, and how to signal one safely.

A pid alone proves nothing, because it is reused; everything here goes by pid *and* start time.
No policy here: `ending` and `leftovers` decide which process to end, and when.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessId:
    """A process for as long as the machine runs: the pid, and its start time in ticks since boot."""

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Process:
    id: ProcessId
    comm: str
    state: str
    parent: int
    group: int
    session: int


def look(pid: int) -> Process | None:
    """The process that has this pid now, a zombie included; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            text = stat.read().decode(errors="replace")
    except OSError:
        return None
    # comm may itself contain blanks and parentheses: it ends at the last one.
    before, _, after = text.rpartition(") ")
    fields = after.split()
    if len(fields) < 20:
        return None
    return Process(
        id=ProcessId(pid, int(fields[19])),
        comm=before.partition(" (")[2],
        state=fields[0],
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
    )


def own_id() -> ProcessId:
    return id_of(os.getpid())


def id_of(pid: int) -> ProcessId:
    """The id of a process that the caller knows to exist (itself, or a child it has not reaped)."""
    process = look(pid)
    return process.id if process else ProcessId(pid, 0)


def is_running(target: ProcessId) -> bool:
    """Whether exactly this process exists and is not just waiting to be reaped."""
    process = look(target.pid)
    return process is not None and process.id == target and process.state not in "ZX"


def is_stopped(pid: int) -> bool:
    """Whether a process that the caller knows to exist does nothing until somebody continues it."""
    process = look(pid)
    return process is not None and process.state in "Tt"


def all_pids() -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def descendants(root: int) -> list[Process]:
    """Everything below `root`, parents before children, without zombies that have no children.

    The walk is not atomic: a process that forks or dies meanwhile can hide a branch. Callers
    repeat it until the kernel says that there are no children left.
    """
    found: list[Process] = []
    seen = {root}
    waiting = [root]
    while waiting:
        for pid in _children(waiting.pop(0)):
            process = look(pid) if pid not in seen else None
            if process is None:
                continue
            seen.add(pid)
            waiting.append(pid)
            if process.state not in "ZX":
                found.append(process)
    return found


def send_signal(target: ProcessId, number: int) -> bool:
    """Signal exactly this process; False if it is gone. A reused pid is never hit."""
    try:
        handle = os.pidfd_open(target.pid)
    except ProcessLookupError:
        return False
    except OSError:
        return _send_without_handle(target, number)
    try:
        # The handle names the process that had the pid when it was opened; only then compare the start time.
        if not is_running(target):
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


def _send_without_handle(target: ProcessId, number: int) -> bool:
    """For kernels without pidfd: a tiny window remains between the look and the signal."""
    try:
        if not is_running(target):
            return False
        os.kill(target.pid, number)
    except ProcessLookupError:
        return False
    return True


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as listing:
                children += [int(child) for child in listing.read().split()]
    except FileNotFoundError:
        if _LISTS_CHILDREN:
            return children
        return [child for child in all_pids() if (process := look(child)) and process.parent == pid]
    except OSError:
        return children
    return children


_LISTS_CHILDREN = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
