"""What a session may use before it is stopped. Pure data."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """What a session may use before it is stopped (it stays resumable). None: no limit.

    `cost` in dollars and `tokens` are for the whole session, `turn_seconds` for one turn. `stall_seconds` is how long a
    turn may be silent while no tool runs. A conversation that is older than `age_seconds`, or was resumed more than
    `resumes` times, is not resumed again: a new one begins.
    """

    cost: float | None = None
    tokens: int | None = None
    turn_seconds: float | None = None
    stall_seconds: float | None = 240.0
    age_seconds: float | None = None
    resumes: int | None = None
