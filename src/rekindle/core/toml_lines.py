"""Where in a settings file a key is set. Pure, and light: every command reads settings."""

from __future__ import annotations


def line_of(text: str, key: str) -> int | None:
    """The line that sets a key of the top level, counted from 1; None if no line does."""
    for number, line in enumerate(text.split("\n"), 1):
        head, assigned, _ = line.partition("=")
        name = head if assigned else line.strip().strip("[]")
        if name.strip().strip("\"'") == key:
            return number
    return None
