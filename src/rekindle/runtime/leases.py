"""Until when the agents of a fleet's jobs may live on this host. A lease is given by the fleet's engine, and short.

On one machine nobody needs one. In a fleet, an agent of a job that the engine drives is started only under a lease, and
its keeper ends it when that runs out: this host may have been given up by then, and another one may begin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rekindle.core.fleet.lease import may_start
from rekindle.core.fleet.needs import is_fleet_job
from rekindle.core.session.state import Session

WAITS = "it waits for the fleet's engine to give it to a host"
#: A time that has passed on every machine. 0 would mean that an agent may live for ever.
_PASSED: Final = 0.001


class Leases:
    """Belongs to one daemon. `clock` is that of the keepers' deadlines (CLOCK_BOOTTIME)."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self._until: dict[str, float] = {}
        #: jobs whose agents would be started if there were a lease: the engine has to be asked for a drive
        self.wanted: set[str] = set()

    def give(self, job: str, until: float) -> None:
        """The agents of a job may live until then. A lease never gets shorter."""
        self._until[job] = max(until, self._until.get(job, 0.0))
        self.wanted.discard(job)

    def drop(self, job: str) -> None:
        """Nobody drives the job here any more. Agents that live end when their lease does."""
        self._until.pop(job, None)

    def until(self, session: Session) -> float:
        """Until when its agent may live; 0: nobody limits that. Without a lease that time has passed."""
        return self._until.get(session.job, _PASSED) if is_fleet_job(session.job) else 0.0

    def barred(self, session: Session) -> str:
        """Why its agent may not be started now; empty: it may."""
        if not is_fleet_job(session.job) or may_start(self._until.get(session.job), self.clock()):
            return ""
        self.wanted.add(session.job)
        return WAITS
