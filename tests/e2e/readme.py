"""The console blocks of a page: commands as a person would type them, and what the page says that they print.

Session ids and pids are other ones in every run: the first time that one is shown it is learned, from then on it is
expected, also in commands. Durations may differ, and so may the width of a column that has one in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HERE_DOCUMENT = re.compile(r"<<'(\w+)'$")
#: A session's id, a pid, or a duration.
_OWN = re.compile(r"\b(?P<id>[0-9a-f]{10})\b|(?<=pid )(?P<pid>\d+)|(?P<time>\s*\b\d+(?:\.\d+)?s\b)")


@dataclass(frozen=True)
class Command:
    """A command, and the lines that the page shows behind it; none if it shows nothing."""

    typed: str
    shown: tuple[str, ...]


def blocks(page: str) -> list[list[Command]]:
    """The console blocks of a page, each with its commands."""
    return [list(_commands(block)) for block in _BLOCK.findall(page)]


@dataclass
class Names:
    """What the names that a page shows are in this run."""

    known: dict[str, str] = field(default_factory=dict)

    def translated(self, typed: str) -> str:
        """A command with this run's names in it."""
        for theirs, ours in self.known.items():
            typed = typed.replace(theirs, ours)
        return typed

    def learn(self, shown: str, printed: str) -> bool:
        """Whether a line that the page shows is the one that was printed; what is new in it is known from now on."""
        found = re.fullmatch(self._pattern(shown), printed.rstrip())
        if found is None:
            return False
        for group, value in found.groupdict().items():
            self.known.setdefault(group.removeprefix("n_"), value)
        return True

    def _pattern(self, shown: str) -> str:
        pieces, end = [], 0
        for own in _OWN.finditer(shown):
            pieces.append(re.escape(shown[end : own.start()]))
            end = own.end()
            name = own["id"] or own["pid"]
            if name is None:
                pieces.append(r"\s*[\d.]+\w+")
            elif name in self.known:
                pieces.append(re.escape(self.known[name]))
            else:
                pieces.append(f"(?P<n_{name}>[0-9a-f]+)")
        return "".join([*pieces, re.escape(shown[end:].rstrip())])


def _commands(block: str) -> Iterator[Command]:
    lines = iter(block.splitlines())
    typed, shown = "", list[str]()
    for line in lines:
        if not line.startswith("$ "):
            shown.append(line)
            continue
        if typed:
            yield Command(typed, tuple(shown))
        typed, shown = line.removeprefix("$ "), []
        document = _HERE_DOCUMENT.search(typed)
        while document is not None:
            typed += "\n" + (more := next(lines))
            document = None if more == document[1] else document
    if typed:
        yield Command(typed, tuple(shown))
