"""The lives of daemons over one store: when each began, and whether it said good-bye. Pure.

A daemon that ends without a word was killed, or the machine went down: agents go on, but somebody may want to know.
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
    """The daemon has ended in good order."""

    pid: int


DaemonFact = DaemonBegan | DaemonLeft


class DaemonLives(msgspec.Struct, frozen=True):
    """`since` and `version` are of the newest one; `is_serving` until it has said that it leaves.

    `sudden` are the times at which a daemon found that the one before it had ended without a word.
    """

    pid: int
    version: str
    since: float
    is_serving: bool = True
    sudden: tuple[float, ...] = ()

    def sudden_since(self, when: float) -> int:
        """How many have ended without a word since then, as far as is remembered."""
        return sum(at >= when for at in self.sudden)


def booked(before: DaemonLives | None, fact: DaemonFact) -> DaemonLives:
    """What a fact makes of it. Telling it again changes nothing."""
    match fact:
        case DaemonBegan():
            if before is not None and (before.pid, before.since) == (fact.pid, fact.at):
                return before
            sudden = before.sudden if before is not None else ()
            if before is not None and before.is_serving:
                sudden = (*sudden, fact.at)[-_MOST:]
            return DaemonLives(fact.pid, fact.version, fact.at, sudden=sudden)
        case DaemonLeft():
            if before is None or before.pid != fact.pid:
                return before or DaemonLives(fact.pid, "", fact.at, is_serving=False)
            return replace(before, is_serving=False)
