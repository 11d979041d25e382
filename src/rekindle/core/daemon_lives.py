"""The lives of daemons on one store: when each began, and whether it shut down cleanly. Pure.

A daemon that ends without saying so was killed, or the machine went down: agents keep running, but people may care.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rekindle.core.fact import Fact

#: The subject of their stream.
SUBJECT = "daemon"
#: How many sudden ends are remembered.
_MOST = 50


class DaemonBegan(Fact, frozen=True, kw_only=True, tag="daemon_began"):
    """A daemon serves the store from now on."""

    pid: int
    version: str


class DaemonLeft(Fact, frozen=True, kw_only=True, tag="daemon_left"):
    """The daemon has shut down cleanly."""

    pid: int


class StoreRebuilt(Fact, frozen=True, kw_only=True, tag="store_rebuilt"):
    """The store was lost or damaged, and made again from what is beside it. `report` says what that could not tell."""

    report: tuple[str, ...] = ()


DaemonFact = DaemonBegan | DaemonLeft | StoreRebuilt


class DaemonLives(msgspec.Struct, frozen=True):
    """`since` and `version` belong to the newest one; `is_serving` until it has said that it is leaving.

    `sudden` are the times at which a daemon found that the one before it had not shut down cleanly. `rebuilt` says what
    a lost store has cost, and `rebuilt_at` when that was.
    """

    pid: int
    version: str
    since: float
    is_serving: bool = True
    sudden: tuple[float, ...] = ()
    rebuilt_at: float | None = None
    rebuilt: tuple[str, ...] = ()

    def sudden_since(self, when: float) -> int:
        """How many have ended without saying so since then, as far as is remembered."""
        return sum(at >= when for at in self.sudden)


def booked(before: DaemonLives | None, fact: DaemonFact) -> DaemonLives:
    """The state after a fact. Applying it again changes nothing."""
    match fact:
        case DaemonBegan():
            if before is not None and (before.pid, before.since) == (fact.pid, fact.at):
                return before
            sudden = before.sudden if before is not None else ()
            if before is not None and before.is_serving:
                sudden = (*sudden, fact.at)[-_MOST:]
            began = DaemonLives(fact.pid, fact.version, fact.at, sudden=sudden)
            if before is None:
                return began
            return replace(began, rebuilt_at=before.rebuilt_at, rebuilt=before.rebuilt)
        case DaemonLeft():
            if before is None or before.pid != fact.pid:
                return before or DaemonLives(fact.pid, "", fact.at, is_serving=False)
            return replace(before, is_serving=False)
        case StoreRebuilt():
            now = before or DaemonLives(0, "", fact.at, is_serving=False)
            return replace(now, rebuilt_at=fact.at, rebuilt=fact.report)
