"""Drives jobs: append, fold, decide, act, repeat. Their sessions are driven by the supervisor, as any other.

Nothing here remembers a time: what is due follows from a job's facts, so that a new daemon goes on where the last one
was killed. A job is looked at when its session changes, when its time comes, and when there is room for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from rekindle.core.fleet.needs import is_fleet_job
from rekindle.core.job import facts as jf
from rekindle.core.job.order import StepOrder
from rekindle.core.job.orders import again, ended
from rekindle.core.job.outcome import outcome
from rekindle.core.job.plan import BeginSession, EndSession, JobEffect, TryAgain, plan, wakes_at
from rekindle.core.job.react import could_not_begin, react
from rekindle.core.job.record import JobRecord, held_up, record
from rekindle.core.job.scheduling import has_room, scheduled, started_by
from rekindle.core.job.state import Job
from rekindle.core.runbook.limits import Limits
from rekindle.core.session.plan import plan as session_plan
from rekindle.core.session.state import Session
from rekindle.core.streams import JOB
from rekindle.ports.calendar import Calendar
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.ports.store import DamagedStore, Recorded, StoreAccess, StoreChange, StoreError
from rekindle.runtime.clock_watch import ClockWatch
from rekindle.runtime.supervisor import Supervisor
from rekindle.runtime.turns import Turns

log = logging.getLogger(__name__)

#: How many jobs work at the same time, where nobody says how many agents may.
AT_ONCE = 4
#: How often to look whether somebody's time has come.
LOOK_SECONDS = 0.5
_PAGE = 5000
#: More facts than any job has.
_ALL = 1_000_000

#: Begins the session of a step, unless that was done before.
Begin = Callable[[Job, StepOrder, str], Awaitable[None]]
#: Gives a job the environment of the schedule that starts it.
Equip = Callable[[str, str], None]


class Jobs:
    """Every job of one store, in one loop."""

    def __init__(
        self,
        supervisor: Supervisor,
        store: StoreAccess,
        begin: Begin,
        calendar: Calendar,
        *,
        equip: Equip = lambda _schedule, _job: None,
        at_once: int | None = None,
    ) -> None:
        """`at_once` None: as many jobs work as the governor has places for agents."""
        self._supervisor = supervisor
        self._engine = supervisor.engine
        self._store = store
        self._begin = begin
        self._calendar = calendar
        self._equip = equip
        self._at_once = at_once
        self._jobs: dict[str, Job] = {}
        self._turns = Turns()
        self._watch = ClockWatch(self._engine.clock, self._engine.steady)
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._wakes: dict[str, float] = {}
        self._resting: set[str] = set()
        #: jobs whose last commit failed: it may have been made after all
        self._doubtful: dict[str, None] = {}
        self._changed = asyncio.Event()
        self._room = 0
        self.fault: BaseException | None = None
        self._engine.listeners.append(self._heard)

    async def open(self) -> None:
        """Fold every job, and go on with those that have not ended."""
        after = 0
        while True:
            page = await self._store.ask(lambda store: store.facts(JOB.kind, after=after, limit=_PAGE))  # noqa: B023
            for one in page:
                if is_fleet_job(one.subject):
                    continue  # the fleet's engine says which host drives it, and when
                self._jobs[one.subject] = JOB.evolve(self._jobs.get(one.subject), one.fact)  # type: ignore[arg-type]
            if len(page) < _PAGE:
                break
            after = page[-1].seq
        for job in self.open_jobs():
            self.stir(job.id)

    async def close(self) -> None:
        """Let go. What was being done is done again by the next daemon."""
        if self._heard in self._engine.listeners:
            self._engine.listeners.remove(self._heard)
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def keep_time(self, seconds: float = LOOK_SECONDS) -> None:
        """Look for ever whose time has come."""
        while self.fault is None:
            await asyncio.sleep(seconds)
            self.look()
        raise self.fault

    def look(self) -> None:
        """Stir every job whose time has come."""
        now = self._engine.clock()
        for job in self._doubtful:
            self.stir(job)
        for job, at in list(self._wakes.items()):
            if at <= now or self._set_by(self._jobs[job]):
                self.stir(job)
        before, self._room = self._room, self._most()
        if before and self._room > before:
            self._make_room(None)

    @property
    def is_busy(self) -> bool:
        """Whether a job needs the daemon: it has not ended."""
        return any(job.over is None for job in self._jobs.values())

    def open_jobs(self) -> list[Job]:
        """Those that have not ended, oldest first."""
        return [job for job in self.all_jobs() if job.over is None]

    def all_jobs(self) -> list[Job]:
        """Every job, oldest first."""
        return sorted(self._jobs.values(), key=lambda one: (one.submitted_at, one.id))

    def now(self) -> float:
        """The time, as the engine has it."""
        return self._engine.clock()

    def is_resting(self, job: str) -> bool:
        """Whether a job waits for a person."""
        return job in self._resting

    def job(self, job: str) -> Job | None:
        """One job, if there is one of this id."""
        return self._jobs.get(job)

    async def shown(self, job: Job) -> JobRecord:
        """A job with what its sessions say."""
        found = [await self._session(one.session) for one in job.steps]
        sessions = {one.id: one for one in found if one is not None}
        now = self._jobs.get(job.id, job)
        shown = record(now, sessions, self._engine.clock())
        session = await self.session_of(now)
        if session is None:
            return shown
        return held_up(shown, self._supervisor.governing.foresee(session, session_plan(session, self._engine.clock())))

    async def session_of(self, job: Job) -> Session | None:
        """The session of a job's current step."""
        return await self._session(job.current.session) if job.current is not None else None

    async def submit(self, fact: jf.JobSubmitted) -> Job:
        """Begin a job. Asking again is harmless: it is the same job."""
        async with self._turns.of(fact.job):
            await self._settle(fact.job)
            if fact.job not in self._jobs:
                await self._commit(fact.job, [fact])
                if fact.order.every:  # whoever submits a schedule is told when it first comes
                    await self._commit(fact.job, self._due(self._jobs[fact.job], None))
        self.stir(fact.job)
        return self._jobs[fact.job]

    async def decide(self, job: str, decision: Callable[[Job], Sequence[jf.JobFact]]) -> Job:
        """Record what a person wants of a job, decided from its state when its turn comes."""
        async with self._turns.of(job):
            await self._settle(job)
            facts = decision(self._jobs[job])
            if facts:
                await self._commit(job, facts)
        self.stir(job)
        return self._jobs[job]

    async def until(self, job: str, done: Callable[[Job], bool], seconds: float) -> bool:
        """Wait until a job is as wanted; False if the time runs out first."""
        deadline = asyncio.get_running_loop().time() + seconds
        while not done(self._jobs[job]):
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return False
            self._changed.clear()
            try:
                async with asyncio.timeout(min(left, LOOK_SECONDS)):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return True

    def stir(self, job: str) -> None:
        """See to a job soon: something about it may have changed."""
        if job in self._tasks:
            self._again.add(job)
            return
        task = asyncio.ensure_future(self._advance(job))
        self._tasks[job] = task
        task.add_done_callback(lambda done: self._finished(job, done))

    async def settled(self) -> None:
        """Wait until nobody is being seen to."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))
            await asyncio.sleep(0)

    def _finished(self, job: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(job, None)
        if task.cancelled():
            return
        if (failure := task.exception()) is not None:
            if isinstance(failure, RekindleError | OSError) and not isinstance(failure, DamagedStore):
                log.warning("job %s: what is due could not be done; trying again: %s", job, failure)
                if job in self._jobs:
                    self._wakes[job] = self._engine.clock() + 1.0
            else:
                log.error("job %s could not be seen to", job, exc_info=failure)
                self.fault = failure
        elif job in self._again:
            self._again.discard(job)
            self.stir(job)

    def _heard(self, session: Session, _recorded: Sequence[Recorded]) -> None:
        self._changed.set()
        if session.job in self._jobs:
            self.stir(session.job)

    async def _advance(self, name: str) -> None:
        """Decide and act until nothing is left to do."""
        while True:
            async with self._turns.of(name):
                await self._settle(name)
                if name not in self._jobs:
                    return
                job = self._jobs[name]
                session = await self.session_of(job)
                reading = self._watch.reading()
                facts = self._moved(job) or self._due(job, session)
                if facts:
                    await self._commit(name, facts)
                self._watch.is_right(name, reading)
                if facts:
                    continue
            effects = plan(job, session, self._engine.clock())
            if not effects:
                break
            for effect in effects:
                await self._perform(job, effect)
            if self._jobs[name] == job and await self.session_of(job) == session:
                break  # it changed nothing: somebody else was faster, and the change will stir us
        await self._rest(name)

    def _set_by(self, job: Job) -> float:
        """By how much the clock was set since a job was last looked at; 0: it was not."""
        return self._watch.set_by(job.id, job.retry.at if job.retry is not None else 0.0)

    def _moved(self, job: Job) -> list[jf.JobFact]:
        """The retry that is as far away as it was, if the clock was set."""
        by, retry = self._set_by(job), job.retry
        if not by or retry is None:
            return []
        return [jf.RetryMoved(at=self._engine.clock(), number=retry.number, until=retry.until + by)]

    def _due(self, job: Job, session: Session | None) -> list[jf.JobFact]:
        now = self._engine.clock()
        if job.is_schedule:
            last = self._jobs.get(job.runs[-1]) if job.runs else None
            busy = last is not None and last.over is None
            return scheduled(
                job,
                now,
                lambda moment: self._calendar.next_after(job.order.every, job.order.zone, moment),
                is_busy=busy or (bool(job.runs) and last is None),
            )
        room = has_room(job, self._jobs.values(), now, at_once=self._most(), resting=self._resting)
        return react(job, session, now, has_room=room or is_fleet_job(job.id))

    def _most(self) -> int:
        room = self._supervisor.governing.placing.room
        return self._at_once or (room.most if room is not None else AT_ONCE)

    async def _rest(self, name: str) -> None:
        """Nothing is left to do about a job now: note when there will be."""
        job = self._jobs[name]
        if job.is_schedule and job.over is None and job.runs and job.runs[-1] not in self._jobs:
            self._equip(job.id, job.runs[-1])
            await self.submit(started_by(job, job.runs[-1], self._engine.clock()))
        session = await self.session_of(job)
        at = wakes_at(job, session, self._engine.clock())
        self._wakes.pop(name, None)
        if at is not None:
            self._wakes[name] = at
        rests = session is not None and job.over is None and outcome(session).kind in ("asking", "asleep")
        changed = rests != (name in self._resting)
        self._resting.discard(name)
        if rests:
            self._resting.add(name)
        if changed or job.over is not None:
            self._make_room(job)

    def _make_room(self, ended_: Job | None) -> None:
        """Somebody has ended or waits, or there is more room: others may begin, and its schedule may go on."""
        for job in self.open_jobs():
            is_own = ended_ is not None and job.id == ended_.id
            is_its_schedule = ended_ is not None and job.id == ended_.of
            if is_its_schedule or (not job.has_begun and not job.is_schedule and not is_own):
                self.stir(job.id)

    async def _perform(self, job: Job, effect: JobEffect) -> None:
        match effect:
            case BeginSession():
                order = next(one.order for one in job.steps if one.order.name == effect.step)
                try:
                    await self._begin(job, order, effect.session)
                except StoreError:
                    raise
                except (RekindleError, OSError) as error:
                    await self._not_begun(job.id, effect.step, error)
            case TryAgain():
                limits = await self._limits(job, effect.session)
                await self._supervisor.decide(
                    effect.session, lambda now: again(now, effect, self._engine.clock(), limits)
                )
            case EndSession():
                await self._supervisor.decide(effect.session, lambda now: ended(now, effect, self._engine.clock()))

    async def _not_begun(self, job: str, step: str, error: RekindleError | OSError) -> None:
        """A session could not be begun: try again within the budget, unless it is what was asked for that is wrong."""
        why = error.message if isinstance(error, RekindleError) else str(error)
        why += f" ({error.hint})" if isinstance(error, RekindleError) and error.hint else ""
        is_final = isinstance(error, UsageError)
        async with self._turns.of(job):
            fact = could_not_begin(self._jobs[job], step, why, self._engine.clock(), is_final=is_final)
            await self._commit(job, [fact])

    async def _limits(self, job: Job, session: str) -> Limits | None:
        """The limits of a session whose job may cost more by now; None: they stay."""
        found = await self._session(session)
        step = next((one.order.name for one in job.steps if one.session == session), "")
        cost = job.may_cost(step)
        if found is None or cost is None:
            return None
        wanted = replace(found.limits, cost=cost)
        return wanted if wanted != found.limits else None

    async def _session(self, session: str | None) -> Session | None:
        if session is None:
            return None
        try:
            return await self._engine.load(session)
        except KeyError:
            return None

    async def _commit(self, job: str, facts: Sequence[jf.JobFact]) -> None:
        now = self._jobs.get(job)
        for fact in facts:
            now = JOB.evolve(now, fact)
        assert now is not None
        try:
            await self._store.commit(StoreChange(JOB.kind, job, facts))
        except StoreError:
            self._doubtful[job] = None
            raise
        self._jobs[job] = now
        self._changed.set()

    async def _settle(self, job: str) -> None:
        """Find out whether a commit that failed was made after all. Called in the job's turn."""
        if job not in self._doubtful:
            return
        facts = await self._store.ask(lambda store: store.facts(JOB.kind, job, limit=_ALL))
        found = JOB.folded(one.fact for one in facts)  # type: ignore[misc]
        self._doubtful.pop(job, None)
        if found is not None:
            self._jobs[job] = found
            self._changed.set()


def no_such_job(prefix: str, known: Sequence[str]) -> UsageError:
    """What to say about an id that means no job, or several."""
    if not known:
        return UsageError(f"there is no job {prefix!r}", "`rekindle job list --all` lists jobs", code="no_such_job")
    return UsageError(f"{prefix!r} can mean {len(known)} jobs: {', '.join(known[:5])}", "give more of the id")
