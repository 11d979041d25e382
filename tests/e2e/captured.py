"""A screen as it is kept in a file: text with marks for colours, and without what differs from one run to the next."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count

from pyte.screens import Char

from tests.e2e.emulator import styles

#: A line as pieces of one look each; see `tests.e2e.emulator.styles`.
Pieces = list[tuple[str, str]]

_MARK = re.compile(r"‹([^›/]+)›(.*?)‹/›")
#: What stands for something that is never the same twice. What was aligned to the right stays so.
_ALWAYS: tuple[tuple[str, str], ...] = (
    (r"/tmp/rk-.{8}", "/tmp/rk-folder00"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "00000000-0000-0000-0000-000000000000"),
    (r"\b(\d\d\d\d-\d\d-\d\d )?\d\d:\d\d:\d\d\b", "12:00:00"),
    (r"\bpid \d+", "pid 4711"),
    (r"(less than a minute|\b\d+ minutes?) ago", "1 minute ago"),
    (r"(\b\d+ h )?\b\d+ min( \d+ s)?\b|\b\d+ s\b", "10 s"),
    (r"\bturn \d+[smh]\b", "turn 10s"),
    (r"Python \d+\.\d+\.\d+\S*", "Python 3.11.0"),
    (r"git version \S+", "git version 2.40.0"),
    (r"[\d.]+ GiB free", "100.0 GiB free"),
)
_AGE = re.compile(r" +\d+[smh](?=  )")
_NAMES = ((re.compile(r"\bq[0-9a-f]{10}\b"), "q{:010x}"), (re.compile(r"\b[0-9a-f]{10}\b"), "5e55{:06x}"))
#: Of runs and prompts. One in forty has no letter. A longer name that has such a part is not meant.
_RUNS = (re.compile(r"(?<![\w-])[0-9a-f]{8}(?![\w-])"), "a{:07x}")


def settled(lines: Sequence[list[Char]], *, board: bool = False) -> list[Pieces]:
    """The lines with ids in the order in which they appear, and fixed times, paths and versions."""
    naming = [_renaming(*one) for one in (*_NAMES, _RUNS)]

    def text(told: str) -> str:
        for pattern, instead in _ALWAYS:
            told = re.sub(pattern, instead, told)
        told = _AGE.sub(lambda found: f"{'10s':>{len(found[0])}}", told)
        for rename in naming:
            told = rename(told)
        return told

    return [[(look, text(told)) for look, told in styles(line)] for line in (_narrowed(lines) if board else lines)]


def _narrowed(lines: Sequence[list[Char]]) -> list[list[Char]]:
    """The lines of a board with a column of times that is as narrow as its heading, whatever the times were."""
    found = ["".join(one.data for one in line) for line in lines]
    title = next(number for number, line in enumerate(found) if " time " in line and " session" in line)
    begin, end = found[title].index("time"), found[title].index("session")
    rows = [number for number, line in enumerate(found) if number > title and re.match(r" \d+ ", line)]
    narrow = []
    for number, line in enumerate(lines):
        if number in (title, *rows):
            time = [one._replace(data=data) for one, data in zip(line[begin:], "10 s  ", strict=False)]
            kept = line[begin : begin + 6] if number == title or not line[begin].data.strip() else time
            narrow.append([*line[:begin], *kept, *line[end:]])
        else:
            narrow.append(line)
    return narrow


def _renaming(pattern: re.Pattern[str], name: str) -> Callable[[str], str]:
    numbers = count(1)
    given: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        if found[0] not in given:
            given[found[0]] = name.format(next(numbers))
        return given[found[0]]

    return lambda text: pattern.sub(named, text)


def marked(lines: Sequence[Pieces]) -> str:
    """The lines as a file: `‹yellow›Needs you‹/› (3)`."""
    return "".join(
        "".join(f"‹{look}›{text}‹/›" if look else text for look, text in line).rstrip() + "\n" for line in lines
    )


def unmarked(file: str) -> str:
    """The file without its marks: what is left where nobody wants colours."""
    return _MARK.sub(r"\2", file)


def pieces(file: str) -> list[Pieces]:
    """The lines of a file again."""
    found: list[Pieces] = []
    for line in file.splitlines():
        at, parts = 0, []
        for mark in _MARK.finditer(line):
            parts += [("", line[at : mark.start()]), (mark[1], mark[2])]
            at = mark.end()
        found.append([part for part in (*parts, ("", line[at:])) if part[1]])
    return found
