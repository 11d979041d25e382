"""The daemon as a unit of the user's own systemd."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from rekindle import files
from rekindle.adapters.boot.tools import MachineTools
from rekindle.core.boot import UNIT, BootStart, BootState, unit
from rekindle.ports.boot import BootFailed

_LONGEST = 1 << 16
_MOST_COMPLAINTS = 3


class SystemdUnit:
    """A port: `ports.boot.BootEntry`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        home = environment.get("HOME") or os.path.expanduser("~")
        config = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        self._file = os.path.join(config, "systemd", "user", UNIT)
        self._tools = MachineTools(environment)
        self._user = str(os.getuid())

    def state(self, start: BootStart) -> BootState:
        text = self._text()
        installed = text is not None
        why = self._why_not()
        if why is not None:
            return BootState("systemd", usable=False, installed=installed, why=why, place=self._file)
        status, said = self._tools.ask("systemctl", "--user", "is-active", UNIT)
        return BootState(
            "systemd",
            usable=True,
            installed=installed,
            current=text == unit(start),
            active=status == 0 if installed else None,
            place=self._file,
            notes=self._notes(said.strip()) if installed else [],
        )

    def install(self, start: BootStart) -> None:
        os.makedirs(os.path.dirname(self._file), mode=0o700, exist_ok=True)
        files.replace(self._file, unit(start).encode(), mode=0o600)
        self._tools.tell("systemctl", "--user", "daemon-reload")
        self._tools.tell("systemctl", "--user", "enable", UNIT)
        self._tools.tell("systemctl", "--user", "restart", UNIT)

    def remove(self) -> bool:
        if self._text() is None:
            return False
        if self._why_not() is None:
            self._tools.tell("systemctl", "--user", "disable", UNIT)
        os.unlink(self._file)
        if self._why_not() is None:
            self._tools.tell("systemctl", "--user", "daemon-reload")
        return True

    def _text(self) -> str | None:
        try:
            return files.read_short(self._file, _LONGEST).decode("utf-8", "replace")
        except FileNotFoundError:
            return None
        except OSError as error:  # a link to /dev/null is a unit that somebody has masked
            why = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"
            raise BootFailed(f"{self._file} {why}", "take it away: systemctl --user unmask " + UNIT) from error

    def _why_not(self) -> str | None:
        """Why there is no systemd of this user to be told anything."""
        if not self._tools.has("systemctl"):
            return "systemctl is not installed"
        status, said = self._tools.ask("systemctl", "--user", "show", "--property=Version")
        if status != 0 or "Version=" not in said:
            return "no systemd runs for this user here"
        return None

    def _notes(self, active: str) -> list[str]:
        """What may keep it from working."""
        notes = [] if active == "active" else [f"systemd calls it {active or 'unknown'}: journalctl --user -u {UNIT}"]
        notes += self._complaints()
        if not self._tools.has("loginctl"):
            return [*notes, "whether it starts before you log in is unknown: loginctl is not installed"]
        status, said = self._tools.ask("loginctl", "show-user", self._user, "--property=Linger")
        if status != 0:
            return [*notes, "whether it starts before you log in is unknown: loginctl did not say"]
        if said.strip() != "Linger=yes":
            notes.append("it ends when you log out and starts when you log in; to change that: loginctl enable-linger")
        return notes

    def _complaints(self) -> list[str]:
        """What systemd itself finds wrong with the unit, where it can be asked: a program that has moved, for one."""
        if not self._tools.has("systemd-analyze"):
            return []
        _, said = self._tools.ask("systemd-analyze", "--user", "verify", self._file)
        return [f"systemd-analyze says: {line}" for line in said.splitlines() if UNIT in line][:_MOST_COMPLAINTS]
