"""Jobs of a host of a fleet: its own, and those of the fleet that it drives right now."""

from __future__ import annotations

import asyncio
import contextlib

from rekindle.core.job.state import Job
from rekindle.runtime.jobs import LOOK_SECONDS, Jobs


class DrivenJobs(Jobs):
    """A job of the fleet is seen to from `take_up` until `put_down`, and otherwise left alone."""

    async def take_up(self, job: Job) -> None:
        """Drive a job of the fleet from now on. This host has it, so nobody else writes about it."""
        async with self._turns.of(job.id):
            self._jobs[job.id] = job
        self.stir(job.id)

    async def put_down(self, job: str) -> None:
        """Let go of a job. What was being done about it is done again by the next host."""
        task = self._tasks.get(job)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        for one in (self._jobs, self._wakes, self._doubtful):
            one.pop(job, None)
        for some in (self._resting, self._again):
            some.discard(job)

    async def changed(self, seconds: float) -> None:
        """Wait until something has changed about any job or session, or for so long."""
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, min(seconds, LOOK_SECONDS))):
                await self._changed.wait()

    def nudge(self) -> None:
        """There is news for those who wait in `changed`."""
        self._changed.set()
