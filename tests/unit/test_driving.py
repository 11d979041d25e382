"""A host drives a job: whatever comes in between, no agent of it lives here once the engine may ask another host."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from rekindle.app.driving import DriveLost, Driving, DrivingParts
from rekindle.app.takeovers import Takeovers
from rekindle.core.fleet.lease import ENDS_WITHIN, SHORTEST, lasts_until
from rekindle.core.job import facts as jf
from rekindle.core.job.order import StepOrder
from rekindle.core.job.state import Job
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.core.streams import JOB as JOB_STREAM
from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, Heard
from rekindle.ports.fleet_jobs import PlacedJob
from rekindle.ports.keepers import AttemptOrder, StartedAttempt
from rekindle.ports.placements import PlacedElsewhere
from rekindle.runtime.driven_jobs import DrivenJobs
from rekindle.runtime.engine import Engine
from rekindle.runtime.leases import Leases
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_schedules import KINDS
from tests.fakes.calendar import HourlyCalendar
from tests.fakes.fleet_jobs import FakeFleetJobs
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.placements import FakePlacements, Fleet
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.job_stage import order as job_order

JOB = "f00000001"
BEAT = 30.0


class SlowKeepers(FakeKeepers):
    """Keepers whose starts a test can hold up, and which remember what was renewed."""

    def __init__(self, world: FakeWorld) -> None:
        super().__init__(world)
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = asyncio.Event()
        self.renewed: list[str] = []
        self.looked = 0
        #: so many looks fail: there are too many open files
        self.blind = 0

    def look(self, session: str, attempt: int) -> Literal["absent", "alive", "ending", "gone"]:
        self.looked += 1
        if self.blind:
            self.blind -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().look(session, attempt)

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        self.waiting.set()
        await self.gate.wait()
        return await super().launch(order)

    async def renew(self, session: str, attempt: int, until: float) -> None:
        await asyncio.sleep(0)
        await super().renew(session, attempt, until)
        self.renewed.append(session)


@dataclass
class ScriptedPulse:
    """Heartbeats that are answered as the test says."""

    answer: Heard = "accepted"
    beats: int = 0

    async def beat(self, _told: DriveTold) -> Heard:
        self.beats += 1
        return self.answer

    async def cancelled_by(self) -> str:
        return "alice"


@dataclass
class Stage:
    """Host a with one job of the fleet. `boottime` is the clock of leases and deadlines, and stands still."""

    boottime: float = 1000.0
    pulse: ScriptedPulse = field(default_factory=ScriptedPulse)
    #: called while what is new of a session is copied
    shipping: Callable[[], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self.world = FakeWorld()
        self.world.boottime = lambda: self.boottime
        self.keepers = SlowKeepers(self.world)
        access = InlineAccess(FakeStore())
        self.engine = Engine(access, lambda: 1_800_000_000.0)
        self.leases = Leases(lambda: self.boottime)
        self.supervisor = Supervisor(
            self.engine,
            self.keepers,
            FakeWorkplace(),
            KINDS,
            FakeRecords(),
            settle_seconds=0.0,
            pause_seconds=0.0,
            leases=self.leases,
        )
        self.jobs = DrivenJobs(self.supervisor, access, self._begin, HourlyCalendar())
        self.fleet = Fleet()
        placed: dict[str, PlacedJob] = {}
        self.placed = placed
        fleet_jobs = self.fleet_jobs = FakeFleetJobs(placed, set(), "a")
        self.placements = FakePlacements(self.fleet, "a")
        self.taken_over: list[str] = []
        self.fact = jf.JobSubmitted(at=1.0, job=JOB, order=job_order())
        fleet_jobs.submit(self.fact, "q")
        self.driving = Driving(
            DrivingParts(
                *("a", self.supervisor, self.keepers, self.jobs, fleet_jobs, self.placements),
                *(self, self.leases, self._ship, lambda _session: (0, 0)),  # type: ignore[arg-type]
            ),
            lambda: 4,
        )

    async def _begin(self, job: Job, wanted: StepOrder, session: str) -> None:
        await self.begin(session, wanted.prompt, job.id)

    async def begin(self, session: str, prompt: str, job: str = JOB) -> None:
        await self.engine.create(f.Created(at=2.0, session=session, agent="fake", cwd="/", job=job))
        await self.supervisor.record(session, f.PromptQueued(at=2.0, prompt=f"p-{session}", text=prompt))

    async def _ship(self, _session: Session) -> bool:
        if self.shipping is not None:
            await self.shipping()
        return True

    def placed_step(self, session: str) -> None:
        """The job's step has a session already."""
        begun = jf.StepBegun(at=2.0, step=self.placed[JOB].job.steps[0].order.name, session=session)
        self.placed[JOB] = replace(self.placed[JOB], job=JOB_STREAM.evolve(self.placed[JOB].job, begun))

    async def taken(self, session: str, **_how: Any) -> None:
        """What `Takeovers` is asked for."""
        self.taken_over.append(session)

    def drive(self, closes_at: float | None = None) -> asyncio.Task[DriveEnd]:
        order = DriveOrder(JOB, 1, BEAT, closes_at=closes_at)
        return asyncio.create_task(self.driving.drive(order, self.pulse), name="the drive")

    async def until(self, condition: Callable[[], Any], *, settles: bool = True) -> None:
        async with asyncio.timeout(30):
            while not condition():
                if settles:
                    self.world.settle()
                await asyncio.sleep(0.001)

    @property
    def alive(self) -> list[str]:
        """The sessions that have a live agent."""
        return [name for (name, _), one in self.world.attempts.items() if one.alive]


def driven_session(job: str = JOB) -> Session:
    return Session(id="s", agent="fake", cwd="/", created_at=1.0, job=job)


def played(story: Callable[[Stage], Awaitable[None]]) -> None:
    async def play() -> None:
        stage = Stage()
        await stage.engine.open()
        await stage.supervisor.start()
        try:
            await story(stage)
        finally:
            await stage.jobs.close()
            await stage.supervisor.close()

    asyncio.run(play())


def test_a_job_is_driven_until_it_is_over_and_its_agent_is_gone_by_then() -> None:
    async def story(stage: Stage) -> None:
        drive = stage.drive()
        await stage.until(drive.done)
        assert drive.result().how == "over" and drive.result().result == "done"
        assert stage.alive == []

    played(story)


def test_what_somebody_says_while_a_host_lets_go_of_a_job_starts_no_agent_behind_its_back() -> None:
    """Once the drive has ended, another host may be asked: one that was started meanwhile would be a second one."""

    async def story(stage: Stage) -> None:
        said: list[str] = []

        async def somebody_speaks() -> None:
            [session] = [one.id for one in stage.engine.at_hand()]
            if not said:
                said.append(session)
                late = f.PromptQueued(at=3.0, prompt="late", text="one more thing")
                await stage.supervisor.record(session, late, f.ResumeAsked(at=3.0, by="alice"))
                for _ in range(50):
                    stage.world.settle()
                    await asyncio.sleep(0)

        stage.shipping = somebody_speaks
        drive = stage.drive()
        await stage.until(drive.done)
        assert stage.alive == [], "the engine was told that the drive is over"
        assert [text for _, text in stage.world.executed] == ["do it", "one more thing"], "and nothing was missed"

    played(story)


def test_a_drive_that_fails_while_an_agent_is_being_started_waits_for_that_and_ends_it() -> None:
    async def story(stage: Stage) -> None:
        stage.keepers.gate.clear()
        drive = stage.drive()
        await stage.until(stage.keepers.waiting.is_set)
        stage.pulse.answer = "lost"
        await stage.until(lambda: stage.driving.driven == [] or stage.keepers.looked > 20)
        assert not drive.done(), "the engine is told nothing while a start is under way"
        stage.keepers.gate.set()
        await stage.until(drive.done)
        with pytest.raises(DriveLost):
            drive.result()
        assert stage.alive == []

    played(story)


def test_a_host_that_cannot_see_whether_an_agent_lives_does_not_tell_the_engine_that_none_does() -> None:
    async def story(stage: Stage) -> None:
        drive = stage.drive()
        await stage.until(lambda: stage.alive, settles=False)
        for one in stage.world.attempts.values():
            one.frozen = True
        stage.pulse.answer = "lost"
        await stage.until(lambda: stage.pulse.beats > 1, settles=False)
        stage.keepers.blind = 3
        await stage.until(drive.done)
        with pytest.raises(DriveLost):
            drive.result()
        assert stage.alive == [] and stage.keepers.blind == 0

    played(story)


def test_a_lease_counts_from_before_the_heartbeat_was_sent_however_long_its_answer_took() -> None:
    async def story(stage: Stage) -> None:
        asked = stage.boottime

        async def slow(_told: DriveTold) -> Heard:
            stage.boottime += 7.0
            stage.pulse.beats += 1
            return "accepted" if stage.pulse.beats == 1 else "away"

        stage.pulse.beat = slow  # type: ignore[method-assign]
        drive = stage.drive()
        await stage.until(lambda: stage.leases.until(driven_session()) > asked, settles=False)
        assert stage.leases.until(driven_session()) + ENDS_WITHIN < asked + BEAT
        drive.cancel()
        await asyncio.gather(drive, return_exceptions=True)

    played(story)


def test_a_drive_that_is_cancelled_in_the_moment_of_news_ends() -> None:
    async def story(stage: Stage) -> None:
        for pauses in range(6):
            waiting = asyncio.create_task(stage.jobs.changed(60.0))
            for _ in range(3):
                await asyncio.sleep(0)
            stage.jobs.nudge()
            for _ in range(pauses):
                await asyncio.sleep(0)
            is_late = waiting.done()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert is_late or waiting.cancelled(), f"{pauses} turns of the loop after the news"

    played(story)


def test_a_lease_ends_before_the_engine_takes_the_job_back_in_any_case() -> None:
    async def story(stage: Stage) -> None:
        closes = stage.boottime + 10.0
        drive = stage.drive(closes_at=closes)
        await stage.until(lambda: stage.leases.until(driven_session()) > stage.boottime, settles=False)
        assert stage.leases.until(driven_session()) + ENDS_WITHIN < closes
        drive.cancel()
        await asyncio.gather(drive, return_exceptions=True)

    played(story)


@pytest.mark.parametrize("what", ["the job", "its session"])
def test_a_host_that_sleeps_between_looking_and_taking_asks_the_engine_again_before_it_takes(what: str) -> None:
    """Another host may have been asked while it slept: what it saw before that is no reason to take anything."""

    async def story(stage: Stage) -> None:
        stage.fleet.begin(driven_session(), "c")
        stage.placed_step("s")
        parts = stage.fleet_jobs if what == "the job" else stage.placements
        find = parts.find

        def sleeps(name: str) -> Any:
            found = find(name)
            stage.boottime += 2 * BEAT
            stage.pulse.answer = "lost"
            return found

        parts.find = sleeps  # type: ignore[method-assign,assignment]
        drive = stage.drive()
        await stage.until(drive.done)
        assert isinstance(drive.exception(), DriveLost)
        assert stage.taken_over == [], "no session was taken"
        if what == "the job":
            assert stage.fleet_jobs.everything()[0].host == "", "nor was the job"

    played(story)


def test_no_agent_may_be_started_while_the_last_is_copied_off_this_host() -> None:
    async def story(stage: Stage) -> None:
        barred: list[str] = []

        async def looks() -> None:
            barred.append(stage.leases.barred(driven_session()))

        stage.shipping = looks
        drive = stage.drive()
        await stage.until(drive.done)
        assert drive.result().how == "over" and barred and all(barred)

    played(story)


def test_every_agent_of_a_job_is_renewed_not_only_the_first() -> None:
    async def story(stage: Stage) -> None:
        drive = stage.drive()
        await stage.until(lambda: stage.leases.barred(driven_session()) == "")
        for one in stage.world.attempts.values():
            one.frozen = True
        await stage.begin("sother", "say two")
        await stage.until(lambda: len(stage.alive) == 2)
        for one in stage.world.attempts.values():
            one.frozen = True
        stage.keepers.renewed.clear()
        await stage.until(lambda: len(set(stage.keepers.renewed)) == 2)
        drive.cancel()
        await asyncio.gather(drive, return_exceptions=True)

    played(story)


def test_a_host_that_slept_after_it_was_asked_takes_nothing_from_the_one_that_was_asked_next() -> None:
    """It has seen that the session was on c, which is gone. While it slept, b was asked, and took the session."""
    fleet = Fleet()
    fleet.begin(driven_session(), "c")
    nothing: Any = None
    takeovers = Takeovers(nothing, nothing, FakePlacements(fleet, "a"), nothing, nothing, {}, lambda: 2.0)
    FakePlacements(fleet, "b").take("s", before="c", at=1.5)
    with pytest.raises(PlacedElsewhere, match="is on host b, not on c"):
        asyncio.run(takeovers.taken("s", host_is_gone=True, before="c"))
    assert fleet.placed["s"].host == "b"


def test_an_agent_of_a_fleets_job_is_never_started_without_a_limit() -> None:
    leases = Leases(lambda: 1000.0)
    session = driven_session()
    assert 0 < leases.until(session) < 1000.0, "0 would mean that it may live for ever"
    leases.give(JOB, 1020.0)
    assert leases.until(session) == 1020.0
    leases.drop(JOB)
    assert 0 < leases.until(session) < 1000.0
    assert leases.until(driven_session(job="")) == 0.0


def test_a_job_whose_agent_waits_for_a_lease_is_known_to_who_asks_the_engine() -> None:
    """However it came to want an agent: by a message, by a person on this host, or by a daemon's restart."""
    leases = Leases(lambda: 1000.0)
    assert leases.barred(driven_session(job="")) == "" and leases.wanted == set()
    assert leases.barred(driven_session()) and leases.wanted == {JOB}
    leases.give(JOB, 1020.0)
    assert leases.wanted == set(), "it is driven here"


@pytest.mark.parametrize("beat", [SHORTEST, 30.0, 3600.0])
def test_a_lease_ends_before_the_engines_although_the_two_clocks_drift(beat: float) -> None:
    """A clock that is being corrected runs up to 500 parts in a million too fast or too slow, and so does the other."""
    lived = lasts_until(100.0, beat) - 100.0
    assert lived * 1.0005 + ENDS_WITHIN < beat * 0.9995


def test_a_heartbeat_that_fails_in_a_way_that_nobody_knows_lets_go_of_the_job() -> None:
    """Else the drive waits for ever, and this host could never be given the job again."""

    async def story(stage: Stage) -> None:
        drive = stage.drive()
        await stage.until(lambda: stage.alive, settles=False)

        async def broken(_told: DriveTold) -> Heard:
            raise ValueError("a bug")

        stage.pulse.beat = broken  # type: ignore[method-assign]
        await stage.until(lambda: stage.leases.barred(driven_session()), settles=False)
        await stage.until(drive.done)
        assert isinstance(drive.exception(), DriveLost)
        assert stage.alive == [] and stage.driving.driven == []

    played(story)
