"""The terminals of agents that are used as interactive programs."""

from __future__ import annotations

from typing import Protocol

from rekindle.ports.errors import RekindleError


class NoTerminal(RekindleError):
    """The agent has no terminal to look at, or none can be opened."""

    code = "no_terminal"


class AgentTerminals(Protocol):
    """One for each session that has one. Raises NoTerminal."""

    def require(self) -> None:
        """Raises NoTerminal if none can be opened on this machine."""
        ...

    def is_open(self, session: str) -> bool:
        """Whether the terminal of the session's newest attempt is there."""
        ...

    def screen(self, session: str, *, history: int = 0) -> str:
        """What is on the screen, as text, with this many lines of what has scrolled away."""
        ...

    def attach(self, session: str) -> tuple[str, ...]:
        """The command line that brings a person into the terminal."""
        ...
