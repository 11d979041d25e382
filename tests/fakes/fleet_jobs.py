"""Jobs of a fleet in memory: hosts that share one dictionary."""

from __future__ import annotations

from rekindle.core.job.facts import JobSubmitted
from rekindle.core.streams import JOB
from rekindle.ports.fleet_jobs import NOBODY, PlacedJob
from rekindle.ports.placements import PlacedElsewhere


class FakeFleetJobs:
    """See `rekindle.ports.fleet_jobs.FleetJobs`."""

    def __init__(self, jobs: dict[str, PlacedJob], queues: set[str], host: str) -> None:
        self._jobs = jobs
        self._queues = queues
        self._host = host

    def submit(self, fact: JobSubmitted, queue: str) -> PlacedJob:
        if fact.job not in self._jobs:
            self._jobs[fact.job] = PlacedJob(JOB.evolve(None, fact), NOBODY)
            self._queues.add(queue)
        return self._jobs[fact.job]

    def find(self, job: str) -> PlacedJob | None:
        return self._jobs.get(job)

    def everything(self) -> list[PlacedJob]:
        return sorted(self._jobs.values(), key=lambda one: (one.job.submitted_at, one.job.id))

    def take(self, job: str, *, before: str, at: float) -> PlacedJob:
        found = self._jobs.get(job)
        if found is None or found.host != before:
            raise PlacedElsewhere(f"job {job} is not on {before}")
        self._jobs[job] = PlacedJob(found.job, self._host)
        return self._jobs[job]

    def queues(self) -> list[str]:
        return sorted(self._queues)

    def close(self) -> None:
        pass
