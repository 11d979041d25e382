"""Jobs over fakes: the daemon dies before and after every effect and every append, and the next one goes on.

Whatever the schedule, each job ends once, each step is worked in one session, and nothing is said twice.
"""

from __future__ import annotations

import asyncio

import pytest

from rekindle.core.job import facts as jf
from rekindle.core.job.order import JobOrder, StepOrder, session_of
from rekindle.core.job.state import Job
from rekindle.core.session import facts as f
from rekindle.core.streams import JOB
from rekindle.runtime.engine import Engine
from rekindle.runtime.jobs import Jobs
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_schedules import KINDS, Crash, Schedule
from tests.fakes.calendar import HourlyCalendar
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace
from tests.job_stage import order, step

JOB_ID = "j00000001"
FIRST, SECOND = session_of(JOB_ID, "a"), session_of(JOB_ID, "b")
PIPELINE = order(step("a", "one"), step("b", "two", "a"), retries=4)


class JobSchedule(Schedule):
    """Kills the agents of the job instead of that of one session."""

    def point(self, name: str) -> None:
        if self.passed == self.killed_at and self.world is not None:
            if self.busy:
                self.world.settle()
            self.world.kill(FIRST)
            self.world.kill(SECOND)
        here, self.passed = self.passed, self.passed + 1
        if here in self.at:
            raise Crash


class JobLife:
    """One world and one store, and as many daemons as it takes."""

    def __init__(self, schedule: JobSchedule, wanted: JobOrder = PIPELINE) -> None:
        self.schedule = schedule
        self.wanted = wanted
        self.world = schedule.world = FakeWorld()
        self.store = FakeStore()
        self.now = 0.0

    def _clock(self) -> float:
        self.now += 0.1
        return self.now

    def live(self) -> JobLife:
        for _ in range(10):
            try:
                asyncio.run(self._one_life())
                return self
            except Crash:
                continue
        raise AssertionError("it never came to rest")

    async def _one_life(self) -> None:
        keepers = FakeKeepers(self.world)
        keepers.point = self.schedule.point  # type: ignore[method-assign]
        self.store.point = self.schedule.point  # type: ignore[method-assign]
        access = UnhurriedAccess(self.store, self.schedule.moments)
        engine = Engine(access, self._clock)
        supervisor = Supervisor(
            engine, keepers, FakeWorkplace(), KINDS, FakeRecords(), settle_seconds=0.0, pause_seconds=0.0
        )

        async def begin(job: Job, wanted: StepOrder, session: str) -> None:
            if not await engine.knows(session):
                created = f.Created(at=0, session=session, agent="fake", cwd="/", rules=wanted.rules, job=job.id)
                await engine.create(created)
            await supervisor.record(session, f.PromptQueued(at=0, prompt="p0", text=wanted.prompt))

        jobs = Jobs(supervisor, access, begin, HourlyCalendar())
        failures: list[BaseException] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: failures.append(context.get("exception") or Crash()))
        try:
            await supervisor.start()
            await supervisor.settled()
            await jobs.open()
            await jobs.submit(jf.JobSubmitted(at=0.0, job=JOB_ID, order=self.wanted))
            quiet = 0
            while quiet < 30 * (1 + self.schedule.moments):
                for fault in (supervisor.fault, jobs.fault):
                    if fault is not None:
                        raise fault
                moved = self.world.settle()
                self.now += 5.0
                jobs.look()
                self.world.most_alive = max(self.world.most_alive, self.world.alive(FIRST), self.world.alive(SECOND))
                quiet = 0 if moved else quiet + 1
                await asyncio.sleep(0)
        finally:
            await jobs.close()
            await supervisor.close()

    @property
    def facts(self) -> list[jf.JobFact]:
        return [one.fact for one in self.store.facts(JOB.kind, JOB_ID)]  # type: ignore[misc]

    @property
    def job(self) -> Job:
        found = JOB.folded(self.facts)
        assert found is not None
        return found


def check(life: JobLife) -> None:
    job, facts = life.job, life.facts
    assert (job.over, [one.status for one in job.steps]) == ("done", ["done", "done"])
    assert sum(isinstance(one, jf.JobOver) for one in facts) == 1, "it ends once"
    said = [text for _, text in life.world.executed if not text.startswith("Your process was interrupted")]
    assert said == ["one", "two"]
    assert [one.id for one in life.store.sessions()] in ([FIRST, SECOND], [SECOND, FIRST])
    assert {one.state for one in life.store.sessions()} == {"COMPLETED"}
    assert life.world.most_alive <= 1
    assert life.world.refused == []
    assert sum(bool(one.prompts) for one in life.world.conversations.values()) == 2, "one conversation for each step"


def points() -> int:
    schedule = JobSchedule()
    check(JobLife(schedule).live())
    return schedule.passed


POINTS = points()


def test_an_undisturbed_pipeline_runs_its_steps_in_order() -> None:
    assert POINTS > 30


@pytest.mark.parametrize("at", range(POINTS))
def test_a_daemon_that_is_killed_at_any_point_changes_nothing(at: int) -> None:
    check(JobLife(JobSchedule((at,))).live())


@pytest.mark.parametrize("at", range(0, POINTS, 3))
def test_a_daemon_that_is_killed_twice_changes_nothing_where_the_store_takes_its_time(at: int) -> None:
    check(JobLife(JobSchedule((at, at + 7), moments=2)).live())


@pytest.mark.parametrize("at", range(POINTS))
def test_an_agent_that_dies_at_any_point_is_tried_again_and_later_steps_follow(at: int) -> None:
    check(JobLife(JobSchedule(killed_at=at)).live())


@pytest.mark.parametrize("at", range(0, POINTS, 2))
def test_an_agent_and_the_daemon_that_die_together_are_one_retry(at: int) -> None:
    life = JobLife(JobSchedule((at + 4,), killed_at=at)).live()
    check(life)
    assert life.job.retries <= 1


HOURLY = order(step("a", "one"), every="0 * * * *", zone="UTC")


def test_a_schedule_whose_times_were_missed_starts_one_job_and_then_goes_on_from_now() -> None:
    life = JobLife(JobSchedule(), HOURLY)
    life.live()
    life.now += 10 * 3600.0
    life.live()
    first = life.job
    assert len(first.runs) == 1
    life.now += 3600.0
    life.live()
    second = life.job
    assert len(second.runs) == 2
    assert second.next_at is not None
    assert life.now - 60 < second.next_at <= life.now + 3600.0
    assert sum(one.stream == "job" and isinstance(one.fact, jf.JobSubmitted) for one in life.store.facts("job")) == 3


@pytest.mark.parametrize("at", range(6))
def test_a_daemon_that_is_killed_when_a_time_comes_starts_that_job_once(at: int) -> None:
    life = JobLife(JobSchedule(), HOURLY)
    life.live()
    life.now += 3600.0
    life.schedule = JobSchedule((at,))
    life.schedule.world = life.world
    life.live()
    assert len(life.job.runs) == 1
    assert [text for _, text in life.world.executed] == ["one"]
