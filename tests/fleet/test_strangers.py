"""Somebody else is in the engine's namespace: nothing that they start or send drives a job twice, or spoils one."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from temporalio import workflow
from temporalio.client import Client, WorkflowFailureError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.temporal.connecting import connected
from rekindle.adapters.temporal.engine import TemporalEngine
from rekindle.adapters.temporal.names import DRIVE, JOB_WORKFLOW, PROMPTED, STOPPED, workflow_of
from rekindle.adapters.temporal.worker import TemporalWorker
from rekindle.core.fleet.needs import WORKFLOWS
from rekindle.keeper.deadline import clock
from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, FleetWork, Pulse
from tests.patience import FACTOR
from tests.temporal import end_the_server, the_server

pytestmark = pytest.mark.timeout(120)
QUEUE = "rekindle:scripted:"
_NUMBERS = itertools.count(time.time_ns() % 0x10000000)


@pytest.fixture(scope="module", autouse=True)
def server_of_these_tests() -> Iterator[None]:
    yield
    end_the_server()


@dataclass
class Host:
    """A worker whose drives end when the test says so."""

    client: Client
    engine: TemporalEngine
    orders: list[DriveOrder] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def drive(self, order: DriveOrder, pulse: Pulse) -> DriveEnd:
        self.orders.append(order)
        while not self.go_on.is_set():
            await pulse.beat(DriveTold("a"))
            await asyncio.sleep(0.1)
        return DriveEnd("over", order.job, "a", result="done")

    def job(self) -> str:
        return f"f{next(_NUMBERS):08x}"

    async def until(self, condition: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 30 * FACTOR
        while not condition():
            assert time.monotonic() < deadline, "it did not come about"
            await asyncio.sleep(0.05)


def played(story: Callable[[Host], Awaitable[None]]) -> None:
    async def play() -> None:
        client = await connected(TemporalSettings(the_server().address), "a")
        host = Host(client, TemporalEngine(client, the_server().address))
        working = asyncio.ensure_future(TemporalWorker(client, 4, frozenset({QUEUE})).run(host.drive))
        try:
            await story(host)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    asyncio.run(play())


def work(job: str, **changes: Any) -> dict[str, Any]:
    return {"job": job, "queue": QUEUE, "urgency": 3, "heartbeat": 5.0, "not_before": None, **changes}


async def failure(handle: Any) -> str:
    """Why a workflow failed. It must: one that tries the same again for ever says nothing."""
    with pytest.raises(WorkflowFailureError) as found:
        async with asyncio.timeout(20 * FACTOR):
            await handle.result()
    cause: BaseException | None = found.value
    while cause is not None and cause.__cause__ is not None:
        cause = cause.__cause__
    return str(cause)


def test_a_second_workflow_for_the_same_job_drives_nothing() -> None:
    """Two drives of one job would be two agents: only the workflow that has the job's own id may have it driven."""

    async def story(host: Host) -> None:
        job = host.job()
        await host.engine.submit(FleetWork(job, QUEUE, heartbeat=5.0))
        await host.until(lambda: job in [one.job for one in host.orders])
        other = await host.client.start_workflow(JOB_WORKFLOW, work(job), id=f"my-{job}", task_queue=WORKFLOWS)
        assert f"only the workflow {workflow_of(job)} has {job} driven" in await failure(other)
        assert [one.job for one in host.orders].count(job) == 1
        host.go_on.set()

    played(story)


def test_what_is_no_job_fails_with_a_reason_and_is_never_driven() -> None:
    good = "f00000001"
    garbage: list[Any] = [
        *({}, "a text", ["a", "list"], None, 42),
        {"job": "../../etc", "queue": QUEUE, "heartbeat": 5.0},
        *(work(good, heartbeat=one) for one in ("soon", -1, 0.01, 1e12)),
        *(work(good, queue=["a"]), work(good, urgency="now"), work(good, drives={})),
    ]

    async def story(host: Host) -> None:
        for told in garbage:
            name = workflow_of(host.job())
            handle = await host.client.start_workflow(JOB_WORKFLOW, told, id=name, task_queue=WORKFLOWS)
            assert "is not a job of a fleet" in await failure(handle), told
        assert host.orders == []

    played(story)


def test_a_signal_that_nobody_of_ours_sends_spoils_no_job() -> None:
    garbage: list[tuple[str, list[Any]]] = [
        *((PROMPTED, words) for words in ([], [1, 2, 3, 4], [{"m": 1}, None], ["m", "a wish"], ["m", {"by": 1}])),
        *((PROMPTED, ["m", {"by": "x", "at": one, "how": "sideways"}]) for one in ("now", 1.0)),
        *((STOPPED, words) for words in ([], ["x"], [{"by": 1}, "yes", 3])),
        ("no-such-signal", ["x" * 100_000]),
    ]

    async def story(host: Host) -> None:
        mine = FleetWork(host.job(), QUEUE, heartbeat=5.0)
        await host.engine.submit(mine)
        await host.until(lambda: host.orders)
        handle = host.client.get_workflow_handle(workflow_of(mine.job))
        for name, words in garbage:
            await handle.signal(name, args=words)
        host.go_on.set()
        async with asyncio.timeout(20 * FACTOR):
            assert (await handle.result())["how"] == "over"
        assert all(one.wish is None and one.cancel_by == "" for one in host.orders)

    played(story)


@workflow.defn(name=JOB_WORKFLOW, sandboxed=False)
class _Stranger:
    """Has a drive begun in its own way."""

    @workflow.run
    async def run(self, told: Any, heartbeat: float, closes: float) -> Any:
        return await workflow.execute_activity(
            DRIVE,
            told,
            task_queue=QUEUE,
            start_to_close_timeout=timedelta(seconds=closes),
            heartbeat_timeout=timedelta(seconds=heartbeat) if heartbeat else None,
        )


async def asked_by_a_stranger(host: Host, job: str, told: Any, heartbeat: float) -> Any:
    runner = UnsandboxedWorkflowRunner()
    async with Worker(host.client, task_queue="theirs", workflows=[_Stranger], workflow_runner=runner):
        handle = await host.client.start_workflow(
            JOB_WORKFLOW, args=[told, heartbeat, 60.0], id=workflow_of(job), task_queue="theirs"
        )
        with contextlib.suppress(WorkflowFailureError):
            await asyncio.wait_for(handle.result(), 20 * FACTOR)
        return handle


def test_a_drive_that_no_job_of_ours_asks_for_is_refused_for_good() -> None:
    async def story(host: Host) -> None:
        job = host.job()
        for told, heartbeat in [
            ({"job": job, "number": 1, "heartbeat": 30.0}, 0.0),
            ({"job": job, "number": "many", "heartbeat": 5.0}, 5.0),
            ({"job": job, "number": 1, "heartbeat": 5.0, "wish": "all"}, 5.0),
            ({"job": host.job(), "number": 1, "heartbeat": 5.0}, 5.0),
            ({}, 5.0),
            ([1], 5.0),
        ]:
            handle = await asked_by_a_stranger(host, job, told, heartbeat)
            assert "this is not a drive of a fleet's job" in await failure(handle), told
        assert host.orders == []

    played(story)


def test_a_lease_follows_what_the_server_will_do_and_not_what_an_order_says() -> None:
    """If an order says a longer heartbeat than the server waits for, an agent would outlive its host's right."""

    async def story(host: Host) -> None:
        host.go_on.set()
        job = host.job()
        await asked_by_a_stranger(host, job, {"job": job, "number": 1, "heartbeat": 3600.0}, 6.0)
        [order] = host.orders
        assert order.heartbeat == 6.0
        assert order.closes_at is not None and order.closes_at <= clock() + 60.0

    played(story)
