"""What is above a process: whether it runs inside an agent."""

from __future__ import annotations

from typing import Protocol

from rekindle.core.inside import ALLOWED, Standing
from rekindle.ports.errors import InsideAgent


class Ancestry(Protocol):
    """The chain of a process's ancestors."""

    def began(self, pid: int) -> int | None:
        """When a process began, which tells it from a later one with the same number; None if it is gone."""
        ...

    def standing_of(self, pid: int, started: int | None = None, *, daemon: int | None = None) -> Standing:
        """Where a process is; `daemon` is the pid of the caller, if that is the daemon."""
        ...

    def is_inside(self) -> bool:
        """Whether this process runs inside an agent. If nobody can tell, it counts as inside."""
        ...

    def refuse_inside(self, what: str, again: str) -> None:
        """Raise InsideAgent if this process runs inside an agent."""
        ...


def refusal(what: str, hint: str = "ask the person to do it in their own terminal") -> InsideAgent:
    """What to say to a caller inside an agent."""
    return InsideAgent(f"this runs inside an agent, and an agent cannot {what}", f"{hint}; {ALLOWED}")
