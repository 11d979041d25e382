"""Has Claude Code report its tool calls to the journal, or stop doing so."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from rekindle.ports.hook_settings import HookSettings
from rekindle.ports.workspace import Workspace

SHARED, LOCAL = "settings.json", "settings.local.json"


class Installed(msgspec.Struct, frozen=True):
    """The hook events that now run the command; none if they already did."""

    file: Path
    command: str
    added: list[str]


class Hooking:
    """The hooks of the project here."""

    def __init__(self, open_here: Callable[[], Workspace], settings: HookSettings) -> None:
        self._open_here = open_here
        self._settings = settings

    def install(self, *, local: bool) -> Installed:
        """Put the hook client into the project's settings, or into the user's own for this project."""
        file = self._file(LOCAL if local else SHARED)
        command = self._settings.PROGRAM
        if shutil.which(command) is None:
            beside = Path(sys.executable).with_name(self._settings.PROGRAM)
            command = shlex.quote(str(beside)) if beside.exists() else command
        return Installed(file, command, self._settings.install(file, command))

    def uninstall(self, *, only_local: bool) -> dict[str, list[str]]:
        """Take the hooks out again; returns the hook events by file."""
        files = [self._file(name) for name in ((LOCAL,) if only_local else (SHARED, LOCAL))]
        return {str(file): self._settings.uninstall(file) for file in files}

    def _file(self, name: str) -> Path:
        repo = self._open_here().repository
        return self._settings.settings_file(repo.top or repo.root, name)
