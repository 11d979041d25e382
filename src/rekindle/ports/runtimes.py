"""Where agent processes run: a runtime says what still runs there, whoever started it and whatever a store knows.

The local machine is the first one, through the keepers. A container or another host is another adapter of this port.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class Instance:
    """An attempt that has processes. Ending: its agent is dead, and its leftovers are being ended.

    `pid` is the agent's and `started` when it began, by the wall clock: None until somebody has recorded them.
    `answers`: its keeper was asked just now, and answered. A signal to `owner` ends the whole tree.
    """

    session: str
    attempt: int
    state: Literal["alive", "ending"]
    pid: int | None = None
    started: float | None = None
    answers: bool = False
    owner: int | None = None


class Runtime(Protocol):
    """One place where agents run."""

    def recover_instances(self) -> list[Instance]:
        """What still runs, by session; one for each session at most. Changes nothing, and may block for a while."""
        ...
