"""What rekindle has to know of an agent, as one value per agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class AgentKind:
    """An agent. `argv` makes its command line from the arguments that the user passes through."""

    name: str
    title: str
    transport: Literal["acp"]
    argv: Callable[[tuple[str, ...]], tuple[str, ...]]
