"""A line in the user's crontab that looks every few minutes whether something is due."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rekindle.adapters.boot.tools import MachineTools
from rekindle.core.boot import BootStart, BootState, entry, own_entry, with_entry, without_entry
from rekindle.ports.boot import BootFailed

#: Where Debian's, Fedora's and Alpine's cron leave their process id.
_RUNNING = ("/run/crond.pid", "/var/run/crond.pid", "/run/cron.pid")


class CronEntry:
    """A port: `ports.boot.BootEntry`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._tools = MachineTools(environment)

    def state(self, start: BootStart) -> BootState:
        if not self._tools.has("crontab"):
            return BootState("cron", usable=False, why="crontab is not installed")
        found = own_entry(self._table())
        runs = any(os.path.exists(place) for place in _RUNNING)
        notes = [] if runs or found is None else ["no running cron was found on this machine: is it started?"]
        return BootState(
            "cron",
            usable=True,
            installed=found is not None,
            current=found == entry(start),
            active=True if runs else None,
            place="crontab -l",
            notes=notes,
        )

    def install(self, start: BootStart) -> None:
        self._write(with_entry(self._table(), entry(start)))

    def remove(self) -> bool:
        if not self._tools.has("crontab"):
            return False
        table = self._table()
        if own_entry(table) is None:
            return False
        self._write(without_entry(table))
        return True

    def _table(self) -> str:
        """The user's crontab; empty where there is none. Never taken for empty because it could not be read."""
        status, said = self._tools.ask("crontab", "-l")
        if status == 0:
            return said
        if "no crontab" in said.lower():
            return ""
        why = next(iter(said.strip().splitlines()), f"exit status {status}")
        raise BootFailed(f"your crontab cannot be read: {why}", "try: crontab -l")

    def _write(self, table: str) -> None:
        self._tools.tell("crontab", "-", stdin=table)
