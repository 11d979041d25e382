"""What is wrong with a plan file, and on which line, in words for people who do not know how it is parsed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from rekindle.core.feature.plan import BadPlan

_HEADER = re.compile(r"\s*\[\[\s*tasks?\s*\]\]")
_UNKNOWN = re.compile(r"contains unknown field `([^`]+)`")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_PLACE = re.compile(r" - at `\$(?:\.task\[(\d+)\])?(?:\.(\w+))?.*`\Z", re.DOTALL)
_SHOWN = "docs/features.md shows a plan"


class PlanText:
    """The text of a plan file, for finding the line of a task or of a key. `name` is what complaints call the file."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._lines = text.split("\n")
        tasks = (number for number, line in enumerate(self._lines) if _HEADER.match(line))
        self._begins = [0, *tasks, len(self._lines)]

    def place(self, task: int | None = None, key: str | None = None) -> str:
        """The file, with the line of the key, else of the task, where it is known."""
        part = 0 if task is None else task + 1
        if part + 1 >= len(self._begins):
            return self.name
        line = self._line_of(key, self._begins[part], self._begins[part + 1]) if key is not None else None
        if line is None and task is not None:
            line = self._begins[part]
        return self.name if line is None else f"{self.name}, line {line + 1}"

    def _line_of(self, key: str, begin: int, end: int) -> int | None:
        pattern = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
        return next((number for number in range(begin, end) if pattern.match(self._lines[number])), None)


def complaint(error: str, text: PlanText, keys: Mapping[str, Sequence[str]], values: Mapping[str, str]) -> BadPlan:
    """The parser's complaint, reworded so that a person can fix the file.

    `keys` are the valid ones (under "task" and ""), `values` what a key can have, if that is worth saying.
    """
    where = _PLACE.search(error)
    task = int(where.group(1)) if where is not None and where.group(1) is not None else None
    key = where.group(2) if where is not None else None
    if unknown := _UNKNOWN.search(error):
        name, there = unknown.group(1), keys["task" if task is not None else ""]
        near = difflib.get_close_matches(name, there, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(there)}"
        return BadPlan(f"{text.place(task, name)}: there is no key {name!r}{_inside(task)}", hint)
    if missing := _MISSING.search(error):
        return BadPlan(f"{text.place(task)}: the key {missing.group(1)!r} is missing{_inside(task)}", _SHOWN)
    what = _PLACE.sub("", error).replace("`", "")
    about = f"{key}: " if key is not None else ""
    return BadPlan(f"{text.place(task, key)}: {about}{what[:1].lower()}{what[1:]}", values.get(key or "", _SHOWN))


def _inside(task: int | None) -> str:
    return " for a task" if task is not None else ""
