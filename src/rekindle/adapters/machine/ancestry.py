"""The line of a process's ancestors in /proc, up to the first process. Light standard library only.

Children of an agent that detach themselves are taken in by its keeper (a child subreaper), so that the line finds them
also without their environment. The walk is not atomic: it counts only if a second one finds the same.
"""

from __future__ import annotations

import os

from rekindle.adapters.machine.process_identity import start_time
from rekindle.core.inside import MARKS, Ancestor, Standing, standing
from rekindle.ports.ancestry import refusal

_TRIES = 20
_LONGEST = 500
_MARKS = tuple(f"{name}=".encode() for name in MARKS)


def began(pid: int) -> int | None:
    """When a process began, which tells it from a later one with its number; None if it is gone."""
    return start_time(pid)


def line(pid: int, started: int | None = None) -> list[Ancestor] | None:
    """The process and its ancestors. None if it is gone, is not the one that began at `started`, or keeps changing."""
    try:
        before = _walk(pid)
        for _ in range(_TRIES):
            now = _walk(pid)
            if now is not None and now == before:
                return now if started in (None, now[0].started) else None
            before = now
    except OSError:  # for example, no file can be opened right now
        return None
    return None


def standing_of(pid: int, started: int | None = None, *, daemon: int | None = None) -> Standing:
    """Where a process stands; `daemon` is the pid of the one who wants to know, if that is the daemon."""
    return standing(line(pid, started), daemon)


def is_inside() -> bool:
    """Whether this process runs inside an agent. If unknown, it counts as inside."""
    return standing_of(os.getpid()) != "outside"


def refuse_inside(what: str, again: str) -> None:
    """Raise InsideAgent if this process lives inside an agent. `what` it cannot do, `again` what a person types."""
    if is_inside():
        raise refusal(what, f"ask the person to run it: {again}")


def _walk(pid: int) -> list[Ancestor] | None:
    found: list[Ancestor] = []
    while pid > 0:
        seen = _look(pid)
        if seen is None:
            return found if found and _is_hidden(pid, found[-1]) else None
        if len(found) == _LONGEST:
            return None  # such a long chain is meant to hide something
        ancestor, parent = seen
        if found and ancestor.started > found[-1].started:
            return None  # a parent is never younger than its child: the pid was reused
        found.append(ancestor)
        pid = parent
    return found


def _is_hidden(parent: int, child: Ancestor) -> bool:
    """Whether a parent is there and cannot be seen (hidepid): then it is another user's, and no agent of ours above it.

    One that has ended is nobody's parent any more: its child has got another one before.
    """
    seen = _look(child.pid)
    return seen is not None and seen == (child, parent)


def _look(pid: int) -> tuple[Ancestor, int] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            before, _, after = file.read().rpartition(b")")
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        return None
    fields = after.split()  # a zombie counts: one whose first thread has ended may go on in others, with its children
    name = before.partition(b"(")[2].decode(errors="replace")
    return Ancestor(pid, int(fields[19]), name, _is_marked(pid)), int(fields[1])


def _is_marked(pid: int) -> bool:
    """Whether its environment has a mark. That of another user's process cannot be read, and is none of ours."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(variable.startswith(_MARKS) for variable in file.read().split(b"\0"))
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        return False
