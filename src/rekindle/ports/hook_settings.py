"""The settings of agents in a project, as far as they concern our hook client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class HookPlace(Protocol):
    """Where an agent keeps its hooks."""

    @property
    def file(self) -> str:
        """The name of its settings file."""
        ...

    @property
    def trust(self) -> str:
        """What a person has to do before the agent runs our hook; "" if nothing."""
        ...


class HookSettings(Protocol):
    """Leaves everything else in the settings as it is. Raises UsageError for settings that cannot be read."""

    @property
    def PROGRAM(self) -> str: ...

    @property
    def HOOKED(self) -> Mapping[str, HookPlace]: ...

    @property
    def EVENTS(self) -> Mapping[str, str | None]: ...

    def settings_file(self, top: str, name: str = "settings.json", agent: str = "claude") -> Path:
        """An agent's settings of the project at `top`. Raises ForeignRepository if a link leads outside it."""
        ...

    def command_of(self, program: str, agent: str = "claude") -> str:
        """What an agent's hook runs, for the shell that the agent starts it with."""
        ...

    def install(self, file: Path, command: str, agent: str = "claude") -> list[str]:
        """Add the missing hooks; returns the hook events that were added."""
        ...

    def uninstall(self, file: Path) -> list[str]:
        """Remove the hooks; returns the hook events that they were removed from."""
        ...

    def put_texts(self, top: str) -> Mapping[str, str]:
        """Put the command and the skill that agents read into the project; says what became of each file."""
        ...

    def remove_texts(self, top: str) -> Mapping[str, str]:
        """Remove those files, unless somebody has changed them; says what became of each."""
        ...

    def installed(self, file: Path) -> list[str]:
        """The hook events that run the hook client."""
        ...
