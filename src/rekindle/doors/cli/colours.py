"""Colours on a terminal, and when not to use them. Light standard library only: every command uses this."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Ink:
    """Text in colours, or unchanged. Pass it only text that is safe to print."""

    def __init__(self, is_wanted: bool) -> None:
        self._is_wanted = is_wanted

    def bold(self, text: str) -> str:
        """A heading."""
        return self._in("1", text)

    def faint(self, text: str) -> str:
        """Secondary details."""
        return self._in("2", text)

    def red(self, text: str) -> str:
        """What went wrong."""
        return self._in("31", text)

    def green(self, text: str) -> str:
        """What works, or went well."""
        return self._in("32", text)

    def yellow(self, text: str) -> str:
        """What waits for a person."""
        return self._in("33", text)

    def cyan(self, text: str) -> str:
        """What to type."""
        return self._in("36", text)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._is_wanted and text else text


def are_wanted(on_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to use colours: on a terminal that knows them, unless NO_COLOR is set (https://no-color.org)."""
    return on_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
