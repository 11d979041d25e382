"""Which process works in a skill session, and whether one that is recorded still lives. Light standard library only.

A command runs in a shell that lives as long as the command: the claim belongs to the agent, or to the interactive
shell, above it.
"""

from __future__ import annotations

import os

from rekindle.adapters.machine import process_identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "ksh", "busybox")
_WRAPPERS = ("env", "nice", "timeout", "rekindle-hook")


def worker_pid(parent: int | None = None) -> int:
    """The agent or the interactive shell that this command runs for. `parent`: the process that started it."""
    pid = os.getppid() if parent is None else parent
    for _ in range(8):
        above = process_identity.parent(pid)
        if above <= 1 or not _is_passing(pid):
            return pid
        pid = above
    return pid


def _is_passing(pid: int) -> bool:
    """Whether a process is only there for one command: a shell with `-c`, or a small wrapper."""
    name = process_identity.name(pid)
    if name in _WRAPPERS:
        return True
    if name not in _SHELLS:
        return False
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(4096).split(b"\0")
    except OSError:
        return False
    return any(word.startswith(b"-") and not word.startswith(b"--") and b"c" in word for word in words[1:4])


def began_at(pid: int) -> float | None:
    """When a process began, in seconds since 1970; None if it is gone."""
    ticks = process_identity.start_time(pid)
    if ticks is None:
        return None
    try:
        with open("/proc/stat", encoding="ascii") as file:
            boot = next(int(line.split()[1]) for line in file if line.startswith("btime "))
    except (OSError, StopIteration, ValueError):
        return None
    return boot + ticks / os.sysconf("SC_CLK_TCK")


def seconds_of(stamp: object) -> float | None:
    """A time of the state file as seconds since 1970: a number (also of milliseconds), or an ISO text."""
    if isinstance(stamp, bool):
        return None
    if isinstance(stamp, (int, float)):
        try:
            return stamp / 1000 if stamp > 1e11 else float(stamp)
        except OverflowError:
            return None  # no time that anybody means
    if not isinstance(stamp, str):
        return None
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(stamp)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def verdict(state: dict[str, Any]) -> str:
    """`alive`, `dead` or `unknown` for the process that holds a session; `free` if none does."""
    pid, owner = state.get("pid"), state.get("owner")
    if not isinstance(pid, int) or isinstance(pid, bool) or pid <= 0:
        return "free"
    if isinstance(owner, dict) and owner.get("pid") == pid:
        return process_identity.verdict(owner)
    from rekindle.core.skill.liveness import bare_pid

    claimed = seconds_of(state.get("lastHeartbeat")) or seconds_of(state.get("startedAt"))
    return bare_pid(claimed, began_at(pid))
