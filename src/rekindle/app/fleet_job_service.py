"""What any host of a fleet can be asked about jobs: its own as on one machine, and those of the fleet.

A job of the fleet is in the shared store before the engine hears of it. If that fails in between, asking again goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from rekindle.app.jobs import JobService, ListedJobs, ShownJob, WaitedJob
from rekindle.app.requests import JobRequest
from rekindle.core.fleet.needs import is_fleet_job, queue_of_order, urgency
from rekindle.core.fleet.spelling import is_need
from rekindle.core.fleet.unclaimed import Worker, why_stalled, why_unclaimed
from rekindle.core.job import facts as jf
from rekindle.core.job.order import JobOrder
from rekindle.core.job.outcome import by_whom
from rekindle.core.job.record import JobRecord, record
from rekindle.core.job.state import Job
from rekindle.core.session.state import Session
from rekindle.core.streams import JOB
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.ports.fleet_engine import DriveWish, EngineError, FleetEngine, FleetSchedule, FleetWork
from rekindle.ports.fleet_jobs import NOBODY, FleetJobs, PlacedJob
from rekindle.ports.hosts import SILENT_SECONDS, Hosts, SeenHost
from rekindle.ports.placements import PlacedElsewhere, Placements
from rekindle.ports.store import StoreAccess, StoreChange, StoreError
from rekindle.runtime.jobs import no_such_job

log = logging.getLogger(__name__)
_LOOK = 0.2
_RESTING = ("done", "failed", "cancelled")
#: How a job stands with the engine that no host drives, nor will without being asked.
_ASLEEP = ("waiting", "over", "unknown")

#: The fleet's engine. Raises EngineError if it is not set up.
Connected = Callable[[], Awaitable[FleetEngine]]


class FleetJobService:
    """The daemon's operations on jobs, in a fleet. Raises RekindleError."""

    def __init__(
        self,
        own: JobService,
        jobs: FleetJobs,
        placements: Placements,
        hosts: Hosts,
        store: StoreAccess,
        engine: Connected,
        heartbeat: float,
        clock: Callable[[], float],
    ) -> None:
        self._own = own
        self._jobs = jobs
        self._placements = placements
        self._hosts = hosts
        self._store = store
        self._engine = engine
        self._heartbeat = heartbeat
        self._clock = clock

    async def submit(self, asked: JobRequest) -> ShownJob:
        """Begin a job: of the fleet, if its id is one of the fleet's."""
        if not is_fleet_job(asked.job):
            return await self._own.submit(asked)
        self._own.check(asked.order)
        for label in asked.order.labels:
            if not is_need(label):
                words = "lower-case letters, digits, dots and dashes"
                hint = f"use a label ({words}), account:NAME, memory:16g or repository:NAME"
                raise UsageError(f"{label!r} is not something that a host can have", hint)
        try:
            engine = await self._engine()
        except EngineError as error:  # nothing is recorded yet
            raise _not_submitted(error) from error
        fact = jf.JobSubmitted(at=self._clock(), job=asked.job, order=asked.order, by=asked.by)
        placed = await asyncio.to_thread(self._jobs.submit, fact, queue_of_order(asked.order))
        if placed.job.over is None:  # who asks again may be told that it was withdrawn, or has ended
            try:
                await self._hand_over(engine, placed.job)
            except EngineError as error:
                placed = await self._withdrawn(placed, asked.by, error)
        return ShownJob((await self._with_reasons([placed]))[0])

    async def list_jobs(self, every: bool = False) -> ListedJobs:
        """Those of this host and of the fleet."""
        own = (await self._own.list_jobs(every)).jobs
        found = await asyncio.to_thread(self._jobs.everything)
        wanted = [one for one in found if every or one.job.over is None]
        fleet = await self._with_reasons(wanted)
        return ListedJobs(sorted([*(one for one in own if not is_fleet_job(one.id)), *fleet], key=_age))

    async def show(self, job: str) -> ShownJob:
        """One job."""
        found = await self._meant(job)
        if found is None:
            return await self._own.show(job)
        shown = (await self._with_reasons([found]))[0]
        return ShownJob(shown if shown.status != "queued" or shown.why else await self._asked_engine(found, shown))

    async def retry(self, job: str, by: str, resume: bool | None = None, max_cost: float | None = None) -> ShownJob:
        """Try a job again that has ended. One of the fleet is tried by whichever host the engine chooses."""
        found = await self._meant(job)
        if found is None or (found.job.over is None and found.host == self._placements.host):
            return await self._own.retry(job, by, resume, max_cost)
        if found.job.over == "done":
            raise UsageError(f"job {found.job.id} is done", "submit a new one: rekindle job submit --fleet")
        if found.job.over is None and not found.has_begun:  # the engine may never have heard of it
            await self._hand_over(await self._engine(), found.job)
            return await self.show(found.job.id)
        if found.job.over is None:
            raise OwnedError(
                f"job {found.job.id} has not ended; host {found.host} has it", f"rekindle job show {found.job.id}"
            )
        how = "" if resume is None else ("resume" if resume else "fresh")
        wish = DriveWish(by, self._clock(), how, max_cost, found.job.over_at)  # type: ignore[arg-type]
        await (await self._engine()).wake(self._work(found.job), "", wish)
        return ShownJob(await self._shown(found))

    async def cancel(self, job: str, by: str) -> ShownJob:
        """End a job and its session, wherever it is."""
        found = await self._meant(job)
        if found is None:
            return await self._own.cancel(job, by)
        if found.job.over is not None:
            raise UsageError(f"job {found.job.id} has ended: it is {found.job.over}", "there is nothing to cancel")
        engine = await self._engine()
        if found.job.is_schedule:
            await engine.end_schedule(found.job.id)
        else:
            await engine.cancel(self._work(found.job), by, has_begun=found.has_begun)
        if not found.has_begun:
            await self._cancel_here(found, by)
        await self._until(found.job.id, lambda now: now.job.over is not None, 30.0)
        return await self.show(found.job.id)

    async def wait(self, job: str, seconds: float) -> WaitedJob:
        """Return when a job has ended or waits for a person, or when the time is over."""
        found = await self._meant(job)
        if found is None:
            return await self._own.wait(job, seconds)
        shown = await self._shown(found)
        deadline = asyncio.get_running_loop().time() + seconds
        while not _rests(shown) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(_LOOK)
            now = await asyncio.to_thread(self._jobs.find, found.job.id)
            shown = shown if now is None else await self._shown(now)
        return WaitedJob(shown, _rests(shown))

    async def wake(self, session: str, mail: str) -> None:
        """Somebody has said something to a session: have its job driven, if the fleet's engine drives it."""
        found = await asyncio.to_thread(self._placements.find, session)
        if found is None or not is_fleet_job(found.session.job):
            return
        placed = await asyncio.to_thread(self._jobs.find, found.session.job)
        if placed is not None:
            await (await self._engine()).wake(self._work(placed.job), mail)

    async def wake_job(self, job: str) -> None:
        """A session of a job wants its agent: have the job driven, if the engine waits with it."""
        placed = await asyncio.to_thread(self._jobs.find, job)
        engine = await self._engine()
        if placed is not None and (await engine.state(job)).state in _ASLEEP:
            await engine.wake(self._work(placed.job), "")

    async def remind(self) -> None:
        """Tell the engine of jobs that nobody has had yet, or this host, and that it has forgotten.

        It may have lost what it was told: its database came from an older copy. Schedules are left alone.
        """
        engine, ours = await self._engine(), (NOBODY, self._placements.host)
        for placed in await asyncio.to_thread(self._jobs.everything):
            job = placed.job
            if job.over is not None or job.is_schedule or placed.host not in ours:
                continue
            if (await engine.state(job.id)).state == "unknown":
                log.warning("%s: the fleet's engine has not heard of it, and is told again", job.id)
                await self._hand_over(engine, job)

    async def _hand_over(self, engine: FleetEngine, job: Job) -> None:
        """Tell the engine of a job. It may have heard of it before."""
        if job.order.every:
            await engine.schedule(FleetSchedule(self._work(job), job.order.every, job.order.zone))
        else:
            await engine.submit(self._work(job))

    async def _withdrawn(self, placed: PlacedJob, by: str, error: EngineError) -> PlacedJob:
        """A job that the engine did not take ends at once, so that nobody waits for it. A host may have it anyway.

        Raises EngineError, which says what became of the job.
        """
        job = placed.job.id
        try:
            is_withdrawn = await self._cancel_here(placed, by, "the fleet's engine could not be reached")
            found = await asyncio.to_thread(self._jobs.find, job)
        except StoreError as lost:
            hint = f"whether it was submitted is not known: rekindle job show {job}"
            raise EngineError(f"{error.message}; job {job} is recorded", hint) from lost
        if is_withdrawn or found is None:
            raise _not_submitted(error) from error
        return found

    async def _asked_engine(self, found: PlacedJob, shown: JobRecord) -> JobRecord:
        """A job that nobody has taken yet, with what the engine says of it, if that is not what everybody expects."""
        try:
            state = await (await self._engine()).state(found.job.id) if not found.job.is_schedule else None
        except RekindleError as error:
            return replace(shown, why=error.message, next=error.hint)
        if state is None or state.state != "unknown":
            return shown
        return replace(
            shown, why="the fleet's engine has not heard of it", next=f"rekindle job retry {shown.id} hands it over"
        )

    async def _with_reasons(self, placed: Sequence[PlacedJob]) -> list[JobRecord]:
        """Jobs as they are shown. Says if nobody can take one that is due, or if its host is silent."""
        found = [await self._shown(one) for one in placed]
        waiting = [one for one in found if _is_due(one, self._clock())]
        driven = [one for one in found if one.status == "running" and one.host not in ("", self._placements.host)]
        if not waiting and not driven:
            return found
        hosts = await asyncio.to_thread(self._hosts.everything)
        workers, seen = _workers(hosts), {one.host: one.seen_seconds_ago for one in hosts}
        queues = {one.job.id: queue_of_order(one.job.order) for one in placed}
        reasons = {one.id: why_unclaimed(queues[one.id], workers) for one in waiting} | {
            one.id: why_stalled(queues[one.id], one.host, seen.get(one.host), workers)
            for one in driven
            if seen.get(one.host, SILENT_SECONDS) >= SILENT_SECONDS
        }
        return [
            replace(one, why=reasons[one.id], next="rekindle fleet status") if reasons.get(one.id) else one
            for one in found
        ]

    async def _cancel_here(self, found: PlacedJob, by: str, why: str = "") -> bool:
        """A job that no host has driven ends here, unless one was faster: then that one hears of it."""
        try:
            await asyncio.to_thread(lambda: self._jobs.take(found.job.id, before=NOBODY, at=self._clock()))
        except PlacedElsewhere:
            return False
        left = tuple(one.order.name for one in found.job.steps)
        asked = jf.JobCancelAsked(at=self._clock(), by=by)
        over = jf.JobOver(at=self._clock(), how="cancelled", why=why or f"cancelled {by_whom(by)}", not_run=left)
        await self._store.commit(StoreChange(JOB.kind, found.job.id, [asked, over]))
        return True

    async def _until(self, job: str, done: Callable[[PlacedJob], bool], seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            found = await asyncio.to_thread(self._jobs.find, job)
            if found is None or done(found):
                return
            await asyncio.sleep(_LOOK)

    async def _meant(self, prefix: str) -> PlacedJob | None:
        """The job of the fleet that an id means; None: it means one of this host."""
        if is_fleet_job(prefix):
            exact = await asyncio.to_thread(self._jobs.find, prefix)
            if exact is not None:
                return exact
        if not prefix.startswith("f"):
            return None
        found = [one for one in await asyncio.to_thread(self._jobs.everything) if one.job.id.startswith(prefix)]
        if len(found) != 1:
            raise no_such_job(prefix, [one.job.id for one in found])
        return found[0]

    def _work(self, job: Job) -> FleetWork:
        order: JobOrder = job.order
        queue, not_before = queue_of_order(order), order.not_before
        return FleetWork(job.id, queue, urgency(order.priority), self._heartbeat, not_before)

    async def _shown(self, placed: PlacedJob) -> JobRecord:
        """A job with what its sessions say, wherever they are, and which host has it."""
        sessions: dict[str, Session] = {}
        for step in placed.job.steps:
            found = await asyncio.to_thread(self._placements.find, step.session) if step.session is not None else None
            if found is not None:
                sessions[found.session.id] = found.session
        shown = record(placed.job, sessions, self._clock())
        return replace(shown, host=placed.host)


def _not_submitted(error: EngineError) -> EngineError:
    return EngineError(f"{error.message}; the job was not submitted", error.hint)


def _is_due(shown: JobRecord, now: float) -> bool:
    """Whether somebody should take it now: nobody has, and it is not to start later."""
    return shown.status == "queued" and not shown.host and not shown.every and (shown.next_at or 0.0) <= now


def _workers(hosts: list[SeenHost]) -> list[Worker]:
    """The hosts that take jobs and were seen lately."""
    return [
        Worker(one.host, one.state, one.report.labels, one.report.agents, one.report.trouble)
        for one in hosts
        if one.report.is_worker is not False and one.seen_seconds_ago < SILENT_SECONDS
    ]


def _rests(shown: JobRecord) -> bool:
    return shown.status in _RESTING or (shown.status == "waiting" and shown.needs_you)


def _age(one: JobRecord) -> tuple[float, str]:
    return (one.submitted_at, one.id)
