"""Jobs of a fleet in the shared store: submitted by any host, driven by one at a time, readable by all.

Which host drives one is the engine's business. Here a host only says that it has it now; from then on nobody else
writes about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rekindle.core.job.facts import JobSubmitted
from rekindle.core.job.state import Job

#: The host of a job that none has driven yet.
NOBODY = ""


@dataclass(frozen=True)
class PlacedJob:
    """A job, and the host that drives it or drove it last; NOBODY if none ever has."""

    job: Job
    host: str

    @property
    def has_begun(self) -> bool:
        """Whether a host has ever had it."""
        return self.host != NOBODY


class FleetJobs(Protocol):
    """Blocking. Everything raises StoreError if the store cannot be reached."""

    def submit(self, fact: JobSubmitted, queue: str) -> PlacedJob:
        """Keep a job that nobody drives yet, with the queue that it waits in. Again: it is the same job."""
        ...

    def find(self, job: str) -> PlacedJob | None:
        """One job; None if there is none of that id."""
        ...

    def everything(self) -> list[PlacedJob]:
        """All jobs of the fleet, oldest first."""
        ...

    def take(self, job: str, *, before: str, at: float) -> PlacedJob:
        """Have the job from now on, if it is still on the host `before`. Raises PlacedElsewhere.

        From then on every write of that host about it is refused. Of several that try at once, one succeeds.
        """
        ...

    def queues(self) -> list[str]:
        """The queues that a job was ever submitted to."""
        ...

    def close(self) -> None:
        """Release the store."""
        ...
