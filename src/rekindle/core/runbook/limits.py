"""What a session may use before it is stopped. Pure data."""

from __future__ import annotations

from typing import Final

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """What a session may use before it is stopped (it stays resumable). None: no limit.

    `cost` in dollars and `tokens` are for the whole session, `turn_seconds` for one turn. `stall_seconds` is how long a
    turn may be silent while no tool runs. A conversation that is older than `age_seconds`, or was resumed more than
    `resumes` times, is not resumed again: a new one begins. A session waits for the end of a limit of its service at
    most `windows` times before a person is asked. Of those that wait for the same limit, those with the highest
    `priority` come back first.
    """

    cost: float | None = None
    tokens: int | None = None
    turn_seconds: float | None = None
    stall_seconds: float | None = 240.0
    age_seconds: float | None = None
    resumes: int | None = None
    windows: int | None = None
    priority: int = 0


#: The words for a priority.
PRIORITIES: Final = {"low": -1, "normal": 0, "high": 1}
