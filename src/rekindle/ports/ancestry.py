"""Who stands above a process: whether it lives inside an agent."""

from __future__ import annotations

from typing import Protocol

from rekindle.core.inside import ALLOWED, Standing
from rekindle.ports.errors import InsideAgent


class Ancestry(Protocol):
    """The line of a process's ancestors."""

    def began(self, pid: int) -> int | None:
        """When a process began, which tells it from a later one with its number; None if it is gone."""
        ...

    def standing_of(self, pid: int, started: int | None = None, *, daemon: int | None = None) -> Standing:
        """Where a process stands; `daemon` is the pid of the one who wants to know, if that is the daemon."""
        ...

    def is_inside(self) -> bool:
        """Whether this process lives inside an agent. Where nobody can tell it counts as inside."""
        ...

    def refuse_inside(self, what: str, again: str) -> None:
        """Raise InsideAgent if this process lives inside an agent."""
        ...


def refusal(what: str, hint: str = "ask the person to do it in a terminal of their own") -> InsideAgent:
    """What is said to whoever asks from inside an agent."""
    return InsideAgent(f"this runs inside an agent, and an agent cannot {what}", f"{hint}; {ALLOWED}")
