"""A terminal emulator around a command: what a person sees at this moment, cell by cell, in its colours.

Faint text counts as bright black, as the emulator knows no faint.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from typing import Any

import pyte
from pyte.screens import Char

from tests.e2e.daemon import Machine, until
from tests.e2e.terminal import TerminalRun

_FAINT, _BRIGHT_BLACK = 2, 90
ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"


class _Screen(pyte.HistoryScreen):
    """Keeps what has scrolled out, and answers what programs ask a terminal."""

    def __init__(self, columns: int, rows: int) -> None:
        super().__init__(columns, rows, history=5000)
        self.answers: list[str] = []

    def write_process_input(self, data: str) -> None:
        self.answers.append(data)

    def select_graphic_rendition(self, *attrs: int, **_more: Any) -> None:
        super().select_graphic_rendition(*(_BRIGHT_BLACK if one == _FAINT else one for one in attrs))


class Emulated(TerminalRun):
    """`with Emulated(machine, "run", "say hello") as person`."""

    def __init__(
        self, machine: Machine, *words: str, columns: int = 80, rows: int = 24, env: Mapping[str, str] | None = None
    ) -> None:
        self._screen = _Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        super().__init__(machine, *words, columns=columns, rows=rows, env=env)

    def _take(self, part: bytes) -> None:
        super()._take(part)
        with self._lock:
            self._stream.feed(part)
            answers, self._screen.answers = self._screen.answers, []
        for answer in answers:
            self.press(answer)

    def resize(self, columns: int, rows: int) -> None:
        """Change the window's size. What was there stays where it was, as on terminals that do not wrap anew."""
        with self._lock:
            self._screen.resize(rows, columns)
        self._set_size(columns, rows)

    def cells(self) -> list[list[Char]]:
        """The lines that have scrolled out and those of the window, down to the last one that has something in it."""
        with self._lock:
            screen = self._screen
            lines = [*screen.history.top, *(screen.buffer[row] for row in range(screen.lines))]
            found = [[line[column] for column in range(screen.columns)] for line in lines]
        while found and not "".join(one.data for one in found[-1]).strip():
            found.pop()
        return found

    @property
    def lines(self) -> list[str]:
        """The same as plain text."""
        return ["".join(one.data for one in line).rstrip() for line in self.cells()]

    @property
    def screen(self) -> str:
        """The same in one."""
        return "\n".join(self.lines)

    @property
    def window(self) -> list[str]:
        """Only what is in the window now."""
        with self._lock:
            return list(self._screen.display)

    @property
    def cursor(self) -> tuple[int, int]:
        """The row of the window that the cursor stands in, and the column."""
        return self._screen.cursor.y, self._screen.cursor.x

    def until_shown(self, text: str) -> None:
        """Wait for a text, which may be broken between words."""
        until(lambda: text in self.screen or text in " ".join(self.screen.split()), f"{text!r} on\n{self.screen}\n")

    def type(self, text: str) -> None:
        """A line."""
        self.press(f"{text}{ENTER}")


def styles(line: list[Char]) -> list[tuple[str, str]]:
    """A line as pieces of one look each: the look (empty for plain text) and the text, without blanks at the end."""
    end = max((number for number, one in enumerate(line, start=1) if one.data.strip() or one.reverse), default=0)
    looks = [_look(one) for one in line[:end]]
    for number in range(end):  # a blank between two words of one look has it too
        if not line[number].data.strip() and number and looks[number] == "":
            after = next(
                (look for one, look in zip(line[number:end], looks[number:], strict=False) if one.data.strip()), ""
            )
            looks[number] = after if after == looks[number - 1] else ""
    found = itertools.groupby(zip(looks, line, strict=False), key=lambda one: one[0])
    return [(look, "".join(one.data for _, one in some)) for look, some in found]


def _look(one: Char) -> str:
    marks = [name for name in ("bold", "italics", "underscore", "strikethrough", "reverse") if getattr(one, name)]
    colour = [one.fg.replace("brown", "yellow")] if one.fg != "default" else []
    ground = [f"on-{one.bg}"] if one.bg != "default" else []
    return "" if not one.data.strip() and not ground and not marks else "+".join([*marks, *colour, *ground])
