"""Text for a screen of some width: its width, where it breaks, and the short forms of numbers and paths.

Light standard library only: `rekindle` with no arguments runs as often as `git status`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ELLIPSIS = "…"
_APART = " · "
#: Where the command to type starts in a line.
_COMMANDS = (": rekindle ", ": git ")


def columns(on_terminal: bool, environment: Mapping[str, str], of: int = 1) -> int | None:
    """The width of the screen; None if the output is not a screen: then nothing is broken or cut.

    `of`: the file descriptor of the screen.
    """
    if not on_terminal:
        return None
    told = environment.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(of).columns or 80
    except OSError:
        return 80


def cells(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def fitted(text: str, width: int | None) -> str:
    """A text cut to at most so many columns; a cut is marked."""
    if width is None or cells(text) <= width:
        return text
    return _head(text, width - 1) + _ELLIPSIS if width > 0 else ""


def fitted_path(path: str, width: int | None) -> str:
    """The same for a path, whose end says most."""
    if width is None or cells(path) <= width:
        return path
    return _ELLIPSIS + _head(path[::-1], width - 1)[::-1] if width > 0 else ""


def padded(text: str, width: int) -> str:
    """A text padded to at least so many columns."""
    return text + " " * (width - cells(text))


def wrapped(text: str, width: int | None, indent: str = "") -> Iterator[str]:
    """The lines of a text, each with the indent, broken between words; a word that is too long for a line is broken."""
    if width is None:
        yield indent + text
        return
    room = max(width - cells(indent), 8)
    line = ""
    for word in text.split():
        if line and cells(line) + 1 + cells(word) > room:
            yield indent + line
            line = ""
        line = f"{line} {word}" if line else word
        while cells(line) > room:
            head = _head(line, room)
            yield indent + head
            line = line[len(head) :]
    if line:
        yield indent + line


def unbroken(line: str, width: int) -> list[str]:
    """A line unchanged if it fits; else broken between words, each part with the indent of the line."""
    if cells(line) <= width:
        return [line]
    return list(wrapped(line, width, line[: min(len(line) - len(line.lstrip()), width // 2)]))


def hung(line: str, width: int | None, indent: int | None = None) -> Iterator[str]:
    """A line unchanged if it fits; else broken between words, indented from its second line on.

    A command at its end is never broken: people copy it.
    """
    front = len(line) - len(line.lstrip())
    behind = " " * (front + 2 if indent is None else indent)
    start = max((line.rfind(mark) + 2 for mark in _COMMANDS if mark in line), default=0)
    command = line[start:] if start else ""
    rest = line[: len(line) - len(command)]
    if width is None or cells(line) <= width:
        yield line
        return
    while cells(rest.rstrip()) > width:
        head = _head(rest, width)
        cut = head.rfind(" ", len(behind) + 1) if not rest[len(head) :].startswith(" ") else len(head)
        cut = cut if cut > 0 else len(head)
        yield rest[:cut].rstrip()
        rest = behind + rest[cut:].lstrip()
    if command and cells(rest + command) > width:
        yield rest.rstrip()
        rest = behind
    yield (rest + command).rstrip()


def packed(parts: list[str], width: int | None, indent: str = "") -> Iterator[str]:
    """Short facts side by side, as many on a line as fit; none of them is broken."""
    line = ""
    for part in filter(None, parts):
        if line and width is not None and cells(indent) + cells(line) + len(_APART) + cells(part) > width:
            yield indent + line
            line = ""
        line = f"{line}{_APART}{part}" if line else part
    if line:
        yield indent + line


def short_number(number: int) -> str:
    """`950`, `12.4k`, `1.2M`."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def short_span(seconds: float) -> str:
    """`45s`, `3m`, `2h`, `5d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"


def from_home(path: str, home: str) -> str:
    """A path as people write it."""
    if home and (path == home or path.startswith(home.rstrip(os.sep) + os.sep)):
        return "~" + path[len(home.rstrip(os.sep)) :]
    return path


def counted(number: int, word: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def _head(text: str, width: int) -> str:
    """As much of the beginning as fits, at least one character, so that a loop over the rest ends."""
    taken = 0
    for number, char in enumerate(text):
        taken += cells(char)
        if taken > width:
            return text[: max(number, 1)]
    return text
