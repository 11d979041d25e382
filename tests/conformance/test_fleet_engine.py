"""One suite for the engine of a fleet: a real Temporal server and the fake keep the same promises."""

from __future__ import annotations

import asyncio
import functools
import itertools
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from rekindle.ports.fleet_engine import (
    DriveEnd,
    DriveOrder,
    DriveTold,
    DriveWish,
    FleetEngine,
    FleetSchedule,
    FleetWork,
    FleetWorker,
    Heard,
    Pulse,
)
from tests.fakes.fleet_engine import FakeEngine, FakeWorker
from tests.patience import FACTOR
from tests.temporal import end_the_server, the_server

pytestmark = pytest.mark.timeout(120)
QUEUE = "rekindle:scripted:"
BEAT = 2.0
_NUMBERS = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def server_of_these_tests() -> Iterator[None]:
    yield
    end_the_server()


@dataclass
class Under:
    """A drive that the test plays the host of."""

    host: str
    order: DriveOrder
    pulse: Pulse
    over: asyncio.Future[DriveEnd]
    is_beating: bool = True
    heard: list[Heard] = field(default_factory=list)

    def end(self, how: Any = "over", until: float | None = None, **more: Any) -> None:
        self.over.set_result(DriveEnd(how, self.order.job, self.host, until, **more))


@dataclass
class Stage:
    """The engine, and hosts whose drives the test ends."""

    engine: FleetEngine
    worker: Callable[[str, frozenset[str]], FleetWorker]
    now: Callable[[], float]
    under: list[Under] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    workers: dict[str, FleetWorker] = field(default_factory=dict)

    def host(self, name: str, *queues: str) -> None:
        """A host that drives what it gets, with a heartbeat, until the test ends the drive."""
        self.workers[name] = self.worker(name, frozenset(queues or {QUEUE}))

        async def drive(order: DriveOrder, pulse: Pulse) -> DriveEnd:
            mine = Under(name, order, pulse, asyncio.get_running_loop().create_future())
            self.under.append(mine)
            while not mine.over.done():
                if mine.is_beating:
                    mine.heard.append(await pulse.beat(DriveTold(name, order.job)))
                await asyncio.wait([mine.over], timeout=0.2)
            return mine.over.result()

        self.tasks.append(asyncio.ensure_future(self.workers[name].run(drive)))

    def drives(self, job: str) -> list[Under]:
        """All drives of a job so far."""
        return [one for one in self.under if one.order.job == job]

    async def driven(self, job: str, number: int = 1) -> Under:
        """The drive of a job that was begun so many times."""

        def found() -> Under | None:
            mine = self.drives(job)
            return mine[number - 1] if len(mine) >= number else None

        under = await self.until(found)
        assert isinstance(under, Under)
        return under

    async def until(self, condition: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + 30 * FACTOR
        while not (found := condition()):
            assert time.monotonic() < deadline, "it did not come about"
            await asyncio.sleep(0.02)
        return found

    async def until_state(self, job: str, *wanted: str) -> Any:
        deadline = time.monotonic() + 30 * FACTOR
        while (found := await self.engine.state(job)).state not in wanted:
            assert time.monotonic() < deadline, (job, found)
            await asyncio.sleep(0.05)
        return found

    async def hang_up(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.engine.close()


Story = Callable[[Stage], Coroutine[Any, Any, None]]


def _fake() -> Iterator[Callable[[], Coroutine[Any, Any, Stage]]]:
    async def made() -> Stage:
        engine = FakeEngine()
        return Stage(engine, lambda host, queues: FakeWorker(engine, host, queues), engine.now)

    yield made


def _temporal() -> Iterator[Callable[[], Coroutine[Any, Any, Stage]]]:
    address = the_server().address

    async def made() -> Stage:
        from rekindle.adapters.machine.fleet_settings import TemporalSettings
        from rekindle.adapters.temporal.connecting import connected
        from rekindle.adapters.temporal.engine import TemporalEngine
        from rekindle.adapters.temporal.worker import TemporalWorker

        clients = {host: await connected(TemporalSettings(address), host) for host in "ab"}
        return Stage(
            TemporalEngine(clients["a"], address),
            lambda host, queues: TemporalWorker(clients[host], 4, queues),
            time.time,
        )

    yield made


@pytest.fixture(params=["fake", "temporal"])
def make(request: pytest.FixtureRequest) -> Iterator[Callable[[], Coroutine[Any, Any, Stage]]]:
    yield from _fake() if request.param == "fake" else _temporal()


def played(story: Story) -> Callable[[Any], None]:
    @functools.wraps(story)
    def test(make: Callable[[], Coroutine[Any, Any, Stage]]) -> None:
        async def play() -> None:
            stage = await make()
            try:
                await story(stage)
            finally:
                await stage.hang_up()

        asyncio.run(play())

    del test.__wrapped__
    return test


def work(**changes: Any) -> FleetWork:
    job = f"f{time.time_ns() % 0x100000:05x}{next(_NUMBERS):03x}"
    return FleetWork(**{"job": job, "queue": QUEUE, "heartbeat": BEAT, **changes})


@played
async def test_a_job_is_driven_by_one_host_until_it_is_over_however_often_it_is_submitted(stage: Stage) -> None:
    one = work()
    await stage.engine.submit(one)
    await stage.engine.submit(one)
    assert (await stage.engine.state(one.job)).state == "queued"
    stage.host("a")
    stage.host("b")
    under = await stage.driven(one.job)
    assert (await stage.until_state(one.job, "driven")).host == under.host
    await stage.engine.submit(one)
    await stage.until(lambda: under.heard.count("accepted") > 3 and "lost" not in under.heard)
    assert len(stage.under) == 1
    under.end(result="done", session="s", receipt="r")
    await stage.until_state(one.job, "over")
    assert len(stage.under) == 1
    assert (await stage.engine.state("f00000000")).state == "unknown"


@played
async def test_a_host_that_falls_silent_loses_its_job_and_is_told_so(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    under = await stage.driven(one.job)
    await stage.until(lambda: under.heard)
    under.is_beating, silent = False, time.monotonic()
    stage.host("b")
    again = await stage.driven(one.job, 2)
    assert time.monotonic() - silent > BEAT - 0.5, "not before its time"
    assert await under.pulse.beat(DriveTold("a")) == "lost"
    under.end(result="of the loser")
    again.end(result="done")
    await stage.until_state(one.job, "over")
    assert len([each for each in stage.under if each.order.job == one.job]) == 2


@played
async def test_a_drive_lasts_as_long_as_its_host_beats(stage: Stage) -> None:
    """Whatever else counts the time of a drive, such as the worker's own library, does not end it."""
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    under, began = await stage.driven(one.job), time.monotonic()
    await stage.until(lambda: len(stage.drives(one.job)) > 1 or time.monotonic() - began > BEAT + 7)
    assert stage.drives(one.job) == [under] and set(under.heard) == {"accepted"}
    under.end(result="done")
    await stage.until_state(one.job, "over")
    assert stage.drives(one.job) == [under]


@played
async def test_a_host_that_leaves_is_gone_at_once_and_the_engine_hears_no_word_of_it(stage: Stage) -> None:
    """Its agents live on for a moment: another host must not be asked sooner than if this one had died."""
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    under = await stage.driven(one.job)
    await stage.until(lambda: under.heard)
    left = time.monotonic()
    [leaving] = stage.tasks
    leaving.cancel()
    await asyncio.wait([leaving], timeout=20 * FACTOR)
    assert leaving.done(), "it does not wait for the end of its drives"
    stage.host("b")
    again = await stage.driven(one.job, 2)
    assert time.monotonic() - left > BEAT - 0.5, "not before its time"
    again.end()
    await stage.until_state(one.job, "over")


@played
async def test_a_drive_that_fails_is_tried_again(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    (await stage.driven(one.job)).over.set_exception(RuntimeError("this host cannot"))
    (await stage.driven(one.job, 2)).end()
    await stage.until_state(one.job, "over")


@played
async def test_a_job_that_waits_for_a_time_goes_on_then(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    began = time.monotonic()
    (await stage.driven(one.job)).end("waits", stage.now() + 2.0)
    assert (await stage.until_state(one.job, "waiting")).until is not None
    (await stage.driven(one.job, 2)).end()
    assert time.monotonic() - began >= 1.9
    await stage.until_state(one.job, "over")


@played
async def test_a_job_that_waits_for_a_person_goes_on_when_it_is_woken(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    (await stage.driven(one.job)).end("waits")
    await stage.until_state(one.job, "waiting")
    await stage.engine.wake(one, "m1")
    (await stage.driven(one.job, 2)).end()
    await stage.until_state(one.job, "over")


@played
async def test_a_prompt_to_a_job_that_is_over_has_it_driven_again_and_brings_the_wish_along(stage: Stage) -> None:
    one, wish = work(), DriveWish("alice", 5.0, "fresh")
    stage.host("a")
    await stage.engine.submit(one)
    (await stage.driven(one.job)).end()
    await stage.until_state(one.job, "over")
    await stage.engine.wake(one, "m1", wish)
    again = await stage.driven(one.job, 2)
    assert again.order.wish == wish
    again.end()
    await stage.until_state(one.job, "over")


@played
async def test_a_prompt_during_the_last_moment_of_a_drive_is_not_missed(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    under = await stage.driven(one.job)
    await stage.engine.wake(one, "m1")
    under.end()
    (await stage.driven(one.job, 2)).end()
    await stage.until_state(one.job, "over")


@played
async def test_a_host_that_drives_a_job_hears_that_it_is_to_be_cancelled_and_by_whom(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    under = await stage.driven(one.job)
    await stage.engine.cancel(one, "alice", has_begun=True)
    await stage.until(lambda: "cancelled" in under.heard)
    assert await under.pulse.cancelled_by() == "alice"
    await stage.until(lambda: len(stage.drives(one.job)) > 1 or under.heard.count("cancelled") > 2 * BEAT / 0.2)
    under.end(result="cancelled")
    await stage.until_state(one.job, "over")
    assert stage.drives(one.job) == [under], "it took its time to end the agent, and was not cut off"
    await stage.engine.cancel(work(), "alice", has_begun=False)


@played
async def test_a_job_that_nobody_has_driven_is_cancelled_without_a_host(stage: Stage) -> None:
    one = work()
    await stage.engine.submit(one)
    await stage.engine.cancel(one, "alice", has_begun=False)
    stage.host("a")
    await stage.until_state(one.job, "over")
    assert stage.under == []


@played
async def test_a_job_that_waits_is_driven_once_more_to_be_cancelled(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    (await stage.driven(one.job)).end("waits")
    await stage.until_state(one.job, "waiting")
    await stage.engine.cancel(one, "alice", has_begun=True)
    again = await stage.driven(one.job, 2)
    assert again.order.cancel_by == "alice"
    again.end()
    await stage.until_state(one.job, "over")


@played
async def test_a_drive_that_moves_goes_on_elsewhere(stage: Stage) -> None:
    one = work()
    stage.host("a")
    await stage.engine.submit(one)
    under = await stage.driven(one.job)
    await stage.workers["a"].listen_to(frozenset())
    stage.host("b")
    under.end("moved")
    again = await stage.driven(one.job, 2)
    assert again.host == "b"
    again.end()
    await stage.until_state(one.job, "over")


@played
async def test_a_host_gets_only_what_its_queues_have_and_the_most_urgent_first(stage: Stage) -> None:
    other = work(queue="rekindle:scripted:gpu")
    await stage.engine.submit(other)
    stage.host("a")
    one = work()
    await stage.engine.submit(one)
    (await stage.driven(one.job)).end()
    await stage.until_state(one.job, "over")
    assert [each.order.job for each in stage.under] == [one.job]
    await stage.workers["a"].listen_to(frozenset({QUEUE, "rekindle:scripted:gpu"}))
    (await stage.driven(other.job)).end()
    await stage.until_state(other.job, "over")


@played
async def test_a_job_with_a_time_starts_then(stage: Stage) -> None:
    began = time.monotonic()
    one = work(not_before=stage.now() + 2.0)
    stage.host("a")
    await stage.engine.submit(one)
    assert (await stage.engine.state(one.job)).state == "delayed"
    (await stage.driven(one.job)).end()
    assert time.monotonic() - began >= 1.9
    await stage.until_state(one.job, "over")


@played
async def test_a_schedule_can_be_made_twice_and_ended_twice(stage: Stage) -> None:
    one = FleetSchedule(work(), "0 4 1 1 *", "UTC")
    await stage.engine.schedule(one)
    await stage.engine.schedule(one)
    await stage.engine.end_schedule(one.work.job)
    await stage.engine.end_schedule(one.work.job)
