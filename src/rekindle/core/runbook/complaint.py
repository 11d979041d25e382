"""What is wrong with a runbook file: the line, the key, what is allowed, and what to do. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from rekindle.core.runbook.limits import PRIORITIES
from rekindle.core.runbook.triggers import ALLOWED, ERROR_CLASSES, TRIGGERS, Trigger
from rekindle.core.toml_places import TomlPath, line_at

_VALUE: Final = re.compile(r"Invalid enum value '(?P<value>[^']*)'")
_UNKNOWN: Final = re.compile(r"contains unknown field `(?P<key>[^`]+)`")
_MISSING: Final = re.compile(r"missing required field `(?P<key>[^`]+)`")
_WHERE: Final = re.compile(r" - at `\$(?P<path>.*)`\Z", re.DOTALL)
_PART: Final = re.compile(r"\.(\w+)|\[(\d+)\]")
#: What a key takes, in words.
TAKES: Final[Mapping[str, str]] = {
    "run": "words, or a list of words; no shell runs them",
    "attempts": 'a whole number of 1 or more, or "forever"',
    "cooldown": 'a duration such as 90, "90s", "15m" or "2h", or a list of them',
    "append": "true or false",
    "env": "a table of texts",
    "needs": "a list of step names",
    "max_cost": "an amount in dollars such as 0.5 or 20",
    "max_tokens": "a whole number of 1 or more",
    "max_resumes": "a whole number of 0 or more",
    "max_windows": "a whole number of 0 or more",
    "priority": "low, normal or high",
    "dehydrate_at": "a share of the context window from 0.05 to 0.95, or 0 for never",
    "overflow": "agent or dehydrate",
    "timeout": 'a duration such as 90, "90s", "15m" or "2h"',
    "stall": 'a duration such as 90, "90s", "15m" or "2h"',
    "max_age": 'a duration such as 90, "90s", "15m" or "2h"',
}
MATCHES: Final = (*ERROR_CLASSES, "transient")
_PERMISSIONS: Final = ("edits", "ask", "deny", "all")


class BadRunbook(ValueError):
    """The file is not a valid runbook. `allowed` is what the key takes, if that is a list."""

    def __init__(self, message: str, hint: str, *, line: int | None, key: str, allowed: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.line, self.key, self.allowed = line, key, tuple(allowed)


class RunbookText:
    """A runbook's name and the places of its keys: every complaint about it is made here."""

    def __init__(self, name: str, places: Mapping[TomlPath, int]) -> None:
        self.name = name
        self._places = places

    def place(self, path: TomlPath) -> str:
        """The file and, if known, the line."""
        line = line_at(self._places, path)
        return self.name if line is None else f"{self.name}, line {line}"

    def wrong(self, path: TomlPath, what: str, hint: str, allowed: Sequence[str] = ()) -> BadRunbook:
        """A complaint about a key."""
        key = dotted(path)
        line = line_at(self._places, path)
        return BadRunbook(f"{self.place(path)}: {what}", hint, line=line, key=key, allowed=allowed)

    def not_one_of(self, path: TomlPath, what: str, given: str, allowed: Sequence[str]) -> BadRunbook:
        """A value that is not on the list."""
        near = difflib.get_close_matches(given, allowed, n=1)
        hint = (f"did you mean {near[0]}? " if near else "") + f"allowed: {', '.join(allowed) or 'nothing'}"
        return self.wrong(path, what, hint, allowed)

    def unreadable(self, path: TomlPath, error: str, keys: Sequence[str]) -> BadRunbook:
        """What the decoder says about the value at `path`, reworded so that it can be fixed. `keys` are the table's."""
        found = _WHERE.search(error)
        inner = found["path"] if found is not None else ""
        parts: list[str | int] = [int(two) if two else one for one, two in _PART.findall(inner)]
        path = (*path, *parts)
        if unknown := _UNKNOWN.search(error):
            return self.not_one_of(
                (*path, unknown["key"]), f"there is no key {unknown['key']!r} here", unknown["key"], keys
            )
        if missing := _MISSING.search(error):
            return self.wrong(
                path, f"the key {missing['key']!r} is missing", "add it; docs/runbooks.md shows a runbook"
            )
        if value := _VALUE.search(error):
            return self.bad_choice(path, value["value"])
        last = next((one for one in reversed(path) if isinstance(one, str)), "")
        takes = TAKES.get(last) or self.takes(path)
        return self.wrong(path, f"{last} has a value of the wrong type", f"it takes {takes}")

    def bad_choice(self, path: TomlPath, given: str) -> BadRunbook:
        """A value that is not on the list of its key."""
        trigger = trigger_of(path)
        last = path[-1] if path else ""
        if last == "match":
            return self.not_one_of(path, f"{given!r} is not a type of error", given, MATCHES)
        if last == "priority":
            return self.not_one_of(path, f"{given!r} is not a priority", given, tuple(PRIORITIES))
        if last == "permission":
            return self.not_one_of(path, f"{given!r} is not a permission", given, _PERMISSIONS)
        if last == "attempts":
            return self.wrong(path, f"{given!r} is not a number of attempts", f"it takes {TAKES['attempts']}")
        if trigger is not None:
            what = f"on_{trigger} does not allow the action {given!r}"
            return self.not_one_of(path, what, given, ALLOWED[trigger])
        return self.wrong(path, f"{given!r} is not allowed here", "docs/runbooks.md shows a runbook")

    def takes(self, path: TomlPath) -> str:
        trigger = trigger_of(path)
        if trigger is not None and isinstance(path[-1], str) and path[-1] == f"on_{trigger}":
            more = ", or a list of such tables" if trigger in ("error", "ask") else ""
            return f"an action, or a table with an action{more}"
        return "a text"


def trigger_of(path: TomlPath) -> Trigger | None:
    """The trigger that a path is about."""
    return next((one for one in TRIGGERS if f"on_{one}" in path), None)


def dotted(path: TomlPath) -> str:
    """A path as people write it: agent.worker.on_error[1].action."""
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path).lstrip(".")
