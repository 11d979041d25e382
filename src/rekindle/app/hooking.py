"""Has Claude Code report its tool calls to the journal and find its way back into skill sessions, or stop doing so."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from rekindle.ports.errors import UsageError
from rekindle.ports.hook_settings import HookSettings
from rekindle.ports.workspace import Workspace

SHARED, LOCAL = "settings.json", "settings.local.json"
CLAUDE = "claude"


class Installed(msgspec.Struct, frozen=True):
    """The hook events that now run the command; none if they already did."""

    file: Path
    command: str
    added: list[str]
    #: the files that agents read, each with what became of it: written, unchanged, kept
    texts: Mapping[str, str]
    #: what a person has to do before the agent runs the hook
    trust: str = ""


class Uninstalled(msgspec.Struct, frozen=True):
    """The hook events by settings file, and what became of the files that agents read: removed, kept."""

    events: Mapping[str, list[str]]
    texts: Mapping[str, str]


class Hooking:
    """The hooks of the project here."""

    def __init__(self, open_here: Callable[[], Workspace], settings: HookSettings) -> None:
        self._open_here = open_here
        self._settings = settings

    def install(self, *, local: bool, agent: str = CLAUDE) -> Installed:
        """Put the hook client into an agent's settings of the project, or into the user's own for this project."""
        about = self._settings.HOOKED.get(agent)
        if about is None:
            raise UsageError(f"{agent} has no hooks that are known here", f"choose: {', '.join(self._settings.HOOKED)}")
        if local and agent != CLAUDE:
            raise UsageError(f"--local is for {CLAUDE} only", "leave it out")
        file = self._file(LOCAL if local else about.file, agent)
        program = self._settings.PROGRAM
        if shutil.which(program) is None:
            beside = Path(sys.executable).with_name(program)
            program = str(beside) if beside.exists() else program
        command = self._settings.command_of(program, agent)
        if agent != CLAUDE:
            return Installed(file, command, self._settings.install(file, command, agent), {}, about.trust)
        added = self._settings.install(file, command)
        return Installed(file, command, added, self._settings.put_texts(self._top()))

    def uninstall(self, *, only_local: bool) -> Uninstalled:
        """Take the hooks out again. The command and the skill go with the last of them."""
        files = [self._file(name) for name in ((LOCAL,) if only_local else (SHARED, LOCAL))]
        others = {} if only_local else {name: one.file for name, one in self._settings.HOOKED.items() if name != CLAUDE}
        files += [file for agent, name in others.items() if (file := self._file(name, agent)).exists()]
        removed = {str(file): self._settings.uninstall(file) for file in files}
        is_last = not any(self._settings.installed(self._file(name)) for name in (SHARED, LOCAL))
        return Uninstalled(removed, self._settings.remove_texts(self._top()) if is_last else {})

    def _file(self, name: str, agent: str = CLAUDE) -> Path:
        return self._settings.settings_file(self._top(), name, agent)

    def _top(self) -> str:
        repo = self._open_here().repository
        return repo.top or repo.root
