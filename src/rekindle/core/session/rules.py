"""The rules of a session: what rekindle does by itself about it, and how often. Pure data.

A session's rules are recorded as a fact when it begins, so that a later version of rekindle, or another setting,
changes no session that exists. Every budget counts what was spent since there was progress.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rekindle.core.session.values import Limits

#: What a budget is for: automatic restarts of an agent, retries of a failed turn, shortening a conversation that is too
#: long, and beginning a new conversation where the old one is lost or too long.
BudgetName = Literal["restarts", "retries", "compactions", "renewals"]


class Budget(msgspec.Struct, frozen=True):
    """How often something may be done without progress, and how many seconds to wait before each time.

    The last pause holds for all later times.
    """

    times: int
    pauses: tuple[float, ...] = (0.0,)

    def pause(self, spent: int) -> float:
        """How long to wait before the next time."""
        return self.pauses[min(spent, len(self.pauses) - 1)]


class Rules(msgspec.Struct, frozen=True):
    """What rekindle does by itself about one session.

    `policy` says what happens when its agent dies: it goes on (`continue`), a person says so (`ask`), or nothing ever
    happens by itself (`never`). `failed_start_pauses` hold before a restart where the agent could not be started: what
    keeps it from starting takes longer to go away than what kills it. `idle_seconds`: an agent that has nothing to do
    for so long is put to sleep. `start_seconds`: an agent has to be ready after so long.
    """

    policy: str = "ask"
    limits: Limits = Limits()
    restarts: Budget = Budget(3, (0.0, 2.0, 8.0))
    failed_start_pauses: tuple[float, ...] = (2.0, 15.0, 60.0)
    retries: Budget = Budget(12, (5.0, 10.0, 20.0, 45.0, 90.0, 180.0, 300.0, 600.0))
    compactions: Budget = Budget(1)
    renewals: Budget = Budget(1)
    idle_seconds: float = 600.0
    start_seconds: float = 60.0

    def budget(self, name: BudgetName) -> Budget:
        """The budget of this name."""
        match name:
            case "restarts":
                return self.restarts
            case "retries":
                return self.retries
            case "compactions":
                return self.compactions
            case "renewals":
                return self.renewals


#: What holds where nobody has set anything else.
BUILT_IN = Rules()
