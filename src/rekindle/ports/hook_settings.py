"""The settings of Claude Code in a project, as far as they concern our hook client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class HookSettings(Protocol):
    """Leaves everything else in the settings as it is. Raises UsageError for settings that cannot be read."""

    @property
    def PROGRAM(self) -> str: ...

    @property
    def EVENTS(self) -> Mapping[str, str | None]: ...

    def settings_file(self, top: str, name: str = "settings.json") -> Path:
        """The settings of the project at `top`. Raises ForeignRepository if a link leads outside it."""
        ...

    def install(self, file: Path, command: str) -> list[str]:
        """Add the missing hooks; returns the hook events that were added."""
        ...

    def uninstall(self, file: Path) -> list[str]:
        """Remove the hooks; returns the hook events that they were removed from."""
        ...

    def installed(self, file: Path) -> list[str]:
        """The hook events that run the hook client."""
        ...
