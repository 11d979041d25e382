"""What the user has set for all sessions together. Pure data.

These rules decide what happens next. What was decided is a fact of the governor's stream, so that folding it later
needs no rules.
"""

from __future__ import annotations

import msgspec

#: The minutes of a day.
DAY_MINUTES = 24 * 60
#: A little longer than a minute: what is allowed at one moment is sent at a later one.
_MINUTE = 63.0


class GovernorRules(msgspec.Struct, frozen=True):
    """None: no such limit.

    After `restarts` automatic restarts in vain within `restart_seconds`, over all sessions, nothing is restarted
    automatically until a person says so. `cost_per_day` and `cost_per_night` are in dollars; `night` is when the night
    begins and ends, in minutes after midnight. Of the sessions that wait for one limit, `returns_per_minute` come back
    in a minute. `agents_at_once` None: as many as the machine has room for. `start_spacing` is the time between two
    automatic restarts, in seconds. `memory_reserve` is how much memory has to be available before another agent starts,
    in bytes; None: what suits the machine, 0: any.
    """

    restarts: int | None = None
    restart_seconds: float = 600.0
    cost_per_day: float | None = None
    cost_per_night: float | None = None
    night: tuple[int, int] = (22 * 60, 8 * 60)
    returns_per_minute: int = 6
    agents_at_once: int | None = None
    start_spacing: float = 0.0
    memory_reserve: int | None = None

    @property
    def spacing(self) -> float:
        """How many seconds lie between two sessions that come back from one limit."""
        return _MINUTE / max(1, self.returns_per_minute)


#: Nothing is limited, except how fast sessions come back from a limit, and by what the machine has room for.
UNLIMITED = GovernorRules()
#: What holds if the user has set nothing.
BUILT_IN = GovernorRules(restarts=20, start_spacing=0.5)
