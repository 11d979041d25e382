"""A settings file in memory."""

from __future__ import annotations


class FakeSettingsFile:
    """See `rekindle.ports.settings_file.SettingsFile`."""

    def __init__(self, path: str, text: str | None = None) -> None:
        self.path = path
        self.text = text

    def read(self) -> str | None:
        return self.text

    def write(self, text: str) -> None:
        self.text = text
