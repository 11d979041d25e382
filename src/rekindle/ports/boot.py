"""How the daemon is started with the machine."""

from __future__ import annotations

from typing import Protocol

from rekindle.core.boot import BootStart, BootState
from rekindle.ports.errors import RekindleError


class BootFailed(RekindleError):
    """The machine did not take the entry."""

    code = "boot"


class BootEntry(Protocol):
    """One way. Changes nothing but its own entry. Raises BootFailed where a tool of the machine refuses."""

    def state(self, start: BootStart) -> BootState:
        """What is there. `current`: it is exactly what `install` would write."""
        ...

    def install(self, start: BootStart) -> None:
        """Write the entry, and make it count. Doing it twice changes nothing."""
        ...

    def remove(self) -> bool:
        """Take the entry out; returns whether there was one. The daemon, if it runs, and all agents go on."""
        ...
