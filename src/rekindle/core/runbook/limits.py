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
    `priority` come back first. From the share `dehydrate_at` of the context window on, a conversation is dehydrated
    before its next prompt; None or 0: never, which is what sessions have that began before this was known.
    `dehydrate_first`: before the agent's own compaction is tried.
    """

    cost: float | None = None
    tokens: int | None = None
    turn_seconds: float | None = None
    stall_seconds: float | None = 240.0
    age_seconds: float | None = None
    resumes: int | None = None
    windows: int | None = None
    priority: int = 0
    dehydrate_at: float | None = None
    dehydrate_first: int = 0


#: The words for a priority.
PRIORITIES: Final = {"low": -1, "normal": 0, "high": 1}
#: The words for what comes first if a conversation becomes too long: the agent's own compaction, or dehydration.
OVERFLOWS: Final = {"agent": 0, "dehydrate": 1}
#: The share of its context window from which on a new session's conversation is dehydrated.
THRESHOLD: Final = 0.76


def is_share(given: object) -> bool:
    """Whether a value is a share of the context window that makes sense here; 0: never."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    return given == 0 or 0.05 <= given <= 0.95
