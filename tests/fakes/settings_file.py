"""A settings file in memory."""

from __future__ import annotations


class FakeSettingsFile:
    """See `rekindle.ports.settings_file.SettingsFile`."""

    def __init__(self, path: str, text: str | None = None) -> None:
        self.path = path
        self.text = text
        self.shared = True

    def read(self) -> str | None:
        return self.text

    def write(self, text: str, *, private: bool = False) -> None:
        self.text = text
        self.shared = self.shared and not private

    def is_shared(self) -> bool:
        return self.text is not None and self.shared
