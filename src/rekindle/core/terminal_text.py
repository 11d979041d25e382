"""Text that is safe for a terminal: nothing in it can control the screen or a shell. Light standard library only."""

from __future__ import annotations


def printable(text: str) -> str:
    """Text from a file or an agent, safe to print: no control characters that could control the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char in "\n\t\r" else "\ufffd" for char in text)


def quoted(name: str) -> str:
    """A name as it has to be typed in a shell."""
    if name.replace("-", "").replace("_", "").replace(".", "").isalnum():
        return name
    import shlex

    return shlex.quote(printable(name))
