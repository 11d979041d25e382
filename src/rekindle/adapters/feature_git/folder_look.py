"""What one look finds out about folders. It asks about the same few worktrees over and over, so each is asked once.

Good for as long as the look takes and no longer: whoever is about to change something asks anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from rekindle.adapters.git import repository
from rekindle.adapters.git.repository import Repository


class FolderLook:
    """One look."""

    def __init__(self) -> None:
        self._real: dict[str, str] = {}
        self._around: dict[str, Repository | None] = {}
        self._sound: dict[str, Repository | None] = {}

    def real(self, path: str) -> str:
        """Where a path really is."""
        if path not in self._real:
            self._real[path] = os.path.realpath(path)
        return self._real[path]

    def around(self, folder: str) -> Repository | None:
        """The repository that a folder is in. Raises ForeignRepository."""
        if folder not in self._around:
            self._around[folder] = repository.find(folder)
        return self._around[folder]

    def sound(self, folder: str, ask: Callable[[], Repository | None]) -> Repository | None:
        """The worktree at a path, if it is sound, as `ask` finds out."""
        if folder not in self._sound:
            self._sound[folder] = ask()
        return self._sound[folder]
