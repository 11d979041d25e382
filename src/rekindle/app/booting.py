"""Have the daemon started with the machine, so that what was interrupted comes back without anybody."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rekindle.app.serving import stop
from rekindle.core.boot import BootStart, BootState, BootWay, chosen, is_started_with_the_machine
from rekindle.ports.boot import BootEntry, BootFailed
from rekindle.ports.daemon import Daemon

#: Said where something is meant to happen by itself, and nothing starts the daemon after a reboot.
HINT = "nothing starts rekindle after a reboot yet: rekindle boot install"
NO_WAY = "after a reboot, it goes on with your next rekindle command: nothing here can start it (rekindle boot status)"

#: How often, and how far apart, it is looked whether the daemon of a new unit serves.
_LOOKS, _LOOK_SECONDS = 100, 0.1


@dataclass(frozen=True)
class Booting:
    """The ways in the order in which they are preferred."""

    ways: Mapping[BootWay, BootEntry]
    start: BootStart
    daemon: Daemon
    sleep: Callable[[float], None] = time.sleep

    def status(self) -> list[BootState]:
        """What is there, for each way. One whose tool refuses does not stand in the way of the others."""
        return [self._state(name, way) for name, way in self.ways.items()]

    def install(self, wanted: BootWay | None = None) -> BootState:
        """Install one way and take the others out: two of them would both start the daemon."""
        states = self.status()
        found = chosen(states, wanted)
        if isinstance(found, str):
            raise BootFailed(f"nothing here can start rekindle with the machine ({found})", "install systemd or cron")
        for state in states:
            if state.way != found.way and state.installed:
                self.ways[state.way].remove()
        if found.way == "systemd" and not found.active:
            stop(self.daemon)  # the unit's own takes its place; agents keep working meanwhile
        self.ways[found.way].install(self.start)
        if found.way == "systemd":
            self._until_served()
        return self.ways[found.way].state(self.start)

    def remove(self) -> list[BootWay]:
        """Take every entry out; returns which there were."""
        return [name for name, way in self.ways.items() if way.remove()]

    def hint(self) -> str | None:
        """What to say to somebody who relies on things that happen by themselves; None if there is nothing to say."""
        seen = self.status()
        if is_started_with_the_machine(seen):
            return None
        return HINT if any(one.usable for one in seen) else NO_WAY

    def _until_served(self) -> None:
        """Wait a while for the unit's daemon: a command that came first would start one of its own, outside of it."""
        for _ in range(_LOOKS):
            if self.daemon.is_served():
                return
            self.sleep(_LOOK_SECONDS)

    def _state(self, name: BootWay, way: BootEntry) -> BootState:
        try:
            return way.state(self.start)
        except BootFailed as error:
            return BootState(name, usable=False, why=f"{error.message} — {error.hint}" if error.hint else error.message)
