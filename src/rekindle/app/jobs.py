"""What can be asked of the daemon about jobs: submit, list, show, retry, cancel, wait."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping

import msgspec

from rekindle.agents.base.kind import AgentKind
from rekindle.app.beginnings import Beginnings
from rekindle.app.requests import BeginRequest, JobRequest
from rekindle.app.service import check_permission, usable
from rekindle.core.fleet.needs import is_fleet_job
from rekindle.core.job import facts as jf
from rekindle.core.job.order import JOB_POLICIES, JobOrder, StepOrder, in_order
from rekindle.core.job.outcome import outcome
from rekindle.core.job.record import JobRecord
from rekindle.core.job.state import Job
from rekindle.core.session.state import Session
from rekindle.ports.calendar import Calendar
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.ports.job_places import JobPlaces
from rekindle.runtime.jobs import Jobs, no_such_job

_ID = re.compile(r"j[0-9a-f]{8}")
#: The id of the prompt that a step begins with.
_PROMPT = "p0"


class ShownJob(msgspec.Struct, frozen=True):
    """One job."""

    job: JobRecord


class ListedJobs(msgspec.Struct, frozen=True):
    """Jobs, oldest first."""

    jobs: list[JobRecord]


class WaitedJob(msgspec.Struct, frozen=True):
    """A job, and whether it has ended or waits for a person."""

    job: JobRecord
    rested: bool


#: The folder and the environment of an agent of a fleet's job on this host: for a job, its order, a step, a session.
FleetGround = Callable[[str, JobOrder, StepOrder, str], tuple[str, dict[str, str]]]


class JobBeginnings:
    """Begins the sessions of jobs. Their environment is kept apart until then.

    `ground`: where a session of a fleet's job works on this host, and with which environment.
    """

    def __init__(self, beginnings: Beginnings, places: JobPlaces, ground: FleetGround | None = None) -> None:
        self._beginnings = beginnings
        self._places = places
        self._ground = ground

    async def begin(self, job: Job, step: StepOrder, session: str) -> None:
        """Begin the session of a step. Again: nothing happens twice."""
        env: dict[str, str] | None
        cwd, worktree = step.cwd, None if job.order.worktree is None else job.order.worktree or job.id
        if is_fleet_job(job.id):
            if self._ground is None:
                raise RekindleError("this host is in no fleet", "see docs/fleet.md")
            cwd, env = await asyncio.to_thread(self._ground, job.id, job.order, step, session)
            worktree = job.id if job.order.repository else None
        else:
            env = self._places.environment(job.id, step.name)
        if env is None:  # an empty one is one
            raise RekindleError("the environment that the job was submitted in cannot be read", "submit it again")
        cost = job.may_cost(step.name)
        name = f"{job.id} {step.name}: " if len(job.steps) > 1 else ""
        asked = BeginRequest(
            session=session,
            prompt_id=_PROMPT,
            agent=step.agent,
            cwd=cwd,
            prompt=step.prompt,
            env=env,
            title=job.order.title or f"{name}{next(iter(step.prompt.strip().splitlines()), '')}"[:80],
            permission=step.permission,
            arguments=list(step.arguments),
            model=step.model,
            limits={"cost": cost} if cost is not None else None,
            rules=msgspec.to_builtins(step.rules) if step.rules is not None else None,
            rules_source=step.rules_source,
            rules_digest=step.rules_digest,
            program=step.program,
            worktree=worktree,
            worktrees_dir=None if is_fleet_job(job.id) else job.order.worktrees_dir,
        )
        await self._beginnings.run_step(asked, job.id)

    def equip(self, schedule: str, job: str) -> None:
        """Give a job the environment of its schedule."""
        try:
            self._places.copy(schedule, job)
        except OSError as error:
            raise RekindleError(f"job {job} could not be started ({error.strerror})", "free some disk space") from error


class JobService:
    """The daemon's operations on jobs. Raises RekindleError."""

    def __init__(self, jobs: Jobs, places: JobPlaces, calendar: Calendar, kinds: Mapping[str, AgentKind]) -> None:
        self._jobs = jobs
        self._places = places
        self._calendar = calendar
        self._kinds = kinds

    async def submit(self, asked: JobRequest) -> ShownJob:
        """Begin a job. Asking again is harmless."""
        if _ID.fullmatch(asked.job) is None:
            raise UsageError(f"{asked.job!r} is not a valid job id", "give a j and 8 hexadecimal digits")
        self.check(asked.order)
        if self._jobs.job(asked.job) is None:
            try:
                self._places.keep(asked.job, asked.env, asked.step_env)
            except OSError as error:
                raise RekindleError(f"the job could not be kept ({error.strerror})", "free some disk space") from error
        submitted = jf.JobSubmitted(at=self._jobs.now(), job=asked.job, order=asked.order, by=asked.by)
        return ShownJob(await self._jobs.shown(await self._jobs.submit(submitted)))

    async def list_jobs(self, every: bool = False) -> ListedJobs:
        """Those that have not ended; `every`: all."""
        found = self._jobs.all_jobs() if every else self._jobs.open_jobs()
        return ListedJobs([await self._jobs.shown(job) for job in found])

    async def show(self, job: str) -> ShownJob:
        """One job."""
        return ShownJob(await self._jobs.shown(self._meant(job)))

    async def retry(self, job: str, by: str, resume: bool | None = None, max_cost: float | None = None) -> ShownJob:
        """Try a job again that has failed, was cancelled, or waits. `resume` None: by the order of a retry."""
        found = self._meant(job)
        session = await self._jobs.session_of(found)

        def decided(now: Job) -> list[jf.JobFact]:
            _refuse_retry(now, session, resume=resume)
            how: jf.How | None = None if resume is None else ("resume" if resume else "fresh")
            return [jf.JobRetryAsked(at=self._jobs.now(), by=by, how=how, max_cost=max_cost)]

        return ShownJob(await self._jobs.shown(await self._jobs.decide(found.id, decided)))

    async def cancel(self, job: str, by: str) -> ShownJob:
        """End a job and its session. A schedule starts no more jobs; the one that it started is left alone."""
        found = self._meant(job)
        if found.over is not None:
            raise UsageError(f"job {found.id} has ended: it is {found.over}", "there is nothing to cancel")
        await self._jobs.decide(found.id, lambda _now: [jf.JobCancelAsked(at=self._jobs.now(), by=by)])
        await self._jobs.until(found.id, lambda now: now.over is not None, 30.0)
        return ShownJob(await self._jobs.shown(found))

    async def wait(self, job: str, seconds: float) -> WaitedJob:
        """Return when a job has ended or waits for a person, or when the time is over."""
        found = self._meant(job)
        await self._jobs.until(found.id, lambda now: now.over is not None or self._jobs.is_resting(now.id), seconds)
        shown = await self._jobs.shown(self._meant(found.id))  # as it is now, not as it was before the wait
        rested = shown.status in ("done", "failed", "cancelled") or (shown.status == "waiting" and shown.needs_you)
        return WaitedJob(shown, rested)

    def _meant(self, prefix: str) -> Job:
        found = [one for one in self._jobs.all_jobs() if prefix and one.id.startswith(prefix)]
        exact = [one for one in found if one.id == prefix]
        if len(exact or found) != 1:
            raise no_such_job(prefix, [one.id for one in found])
        return (exact or found)[0]

    def check(self, order: JobOrder) -> None:
        """Refuse an order that cannot be carried out. Raises UsageError."""
        if not order.steps or any(not one.prompt.strip() for one in order.steps):
            raise UsageError("there is no prompt", "say what the agent should do")
        if order.policy not in JOB_POLICIES:
            raise UsageError(f"{order.policy!r} is not a policy", f"it is one of: {', '.join(JOB_POLICIES)}")
        try:
            in_order(order.steps)
        except ValueError as error:
            raise UsageError(str(error), "take one of the needs out") from error
        for step in order.steps:
            usable(self._kinds, step.agent, list(step.arguments))
            check_permission(step.permission)
        if order.every and self._calendar.next_after(order.every, order.zone, self._jobs.now()) is None:
            raise UsageError(f"{order.every!r} names no time that ever comes", "give another expression")


def _refuse_retry(job: Job, session: Session | None, *, resume: bool | None) -> None:
    if job.is_schedule:
        raise UsageError(f"{job.id} is a schedule", "retry one of the jobs that it started: `rekindle job list --all`")
    if job.over == "done":
        raise UsageError(f"job {job.id} is done", "submit a new one: rekindle job submit")
    kind = outcome(session).kind if session is not None else "working"
    if job.over is None and job.retry is None and kind == "working":
        raise OwnedError(f"job {job.id} is working", f"watch it: rekindle job logs {job.id} -f")
    if job.over is None and session is not None and session.is_up:  # the wish would be carried out when this one dies
        why = outcome(session).why or "its agent is there"
        hint = f"answer it: rekindle inbox; or end the try first: rekindle stop {session.id} --sleep"
        raise OwnedError(f"job {job.id} has a try that goes on: {why}", hint)
    if resume and (session is None or session.token is None):
        raise UsageError(f"job {job.id} has no conversation to resume", f"rekindle job retry {job.id} --fresh")
