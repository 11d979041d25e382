"""The file with the user's own settings, as text."""

from __future__ import annotations

from typing import Protocol


class SettingsFile(Protocol):
    """One file. It need not exist. Raises UsageError if it cannot be read or written."""

    @property
    def path(self) -> str:
        """Where it is, or would be."""
        ...

    def read(self) -> str | None:
        """Its text; None if there is no such file."""
        ...

    def write(self, text: str, *, private: bool = False) -> None:
        """Replace the text in one step; a link stays a link, and the mode stays unless others must not read it."""
        ...

    def is_shared(self) -> bool:
        """Whether others can read it."""
        ...
