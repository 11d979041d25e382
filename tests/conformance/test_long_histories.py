"""A job that lives long leaves its history behind now and then: nothing that was said to it meanwhile is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, DriveWish, FleetWork, Pulse
from tests.patience import FACTOR
from tests.temporal import new_server

pytestmark = pytest.mark.timeout(120)
JOB = "f0000000a"
WORK = FleetWork(JOB, "rekindle:scripted:", heartbeat=5.0)
#: Short enough for every drive to begin with a new history.
SHORT = ("limit.historyCount.suggestContinueAsNew=4",)


class Host:
    """Ends each drive as the test says, in turn."""

    def __init__(self) -> None:
        self.orders: list[DriveOrder] = []

    async def drive(self, order: DriveOrder, pulse: Pulse) -> DriveEnd:
        self.orders.append(order)
        await pulse.beat(DriveTold("a"))
        return DriveEnd("over" if order.cancel_by else "waits", order.job, "a")

    async def driven(self, number: int) -> DriveOrder:
        async with asyncio.timeout(30 * FACTOR):
            while len(self.orders) < number:
                await asyncio.sleep(0.02)
        return self.orders[number - 1]


def test_what_was_signalled_when_a_history_is_left_behind_is_still_acted_on() -> None:
    server = new_server(config=SHORT)

    async def story() -> None:
        from rekindle.adapters.machine.fleet_settings import TemporalSettings
        from rekindle.adapters.temporal.connecting import connected
        from rekindle.adapters.temporal.engine import TemporalEngine
        from rekindle.adapters.temporal.names import workflow_of
        from rekindle.adapters.temporal.worker import TemporalWorker

        client = await connected(TemporalSettings(server.address), "a")
        engine, host = TemporalEngine(client, server.address), Host()
        working = asyncio.ensure_future(TemporalWorker(client, 4, frozenset({WORK.queue})).run(host.drive))
        try:
            await engine.submit(WORK)
            await host.driven(1)
            first = (await client.get_workflow_handle(workflow_of(JOB)).describe()).run_id
            await _until(lambda: _is(engine, "waiting"))
            wish = DriveWish("alice", 5.0, "fresh")
            await engine.wake(WORK, "m1", wish)
            assert (await host.driven(2)).wish == wish
            assert (await client.get_workflow_handle(workflow_of(JOB)).describe()).run_id != first, "it is a new run"
            await _until(lambda: _is(engine, "waiting"))
            await engine.cancel(WORK, "bob", has_begun=True)
            third = await host.driven(3)
            assert (third.cancel_by, third.wish) == ("bob", None)
            assert [one.number for one in host.orders] == [1, 2, 3]
            await _until(lambda: _is(engine, "over"))
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    try:
        asyncio.run(story())
    finally:
        server.stop()


async def _is(engine: Any, state: str) -> bool:
    return bool((await engine.state(JOB)).state == state)


async def _until(condition: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    async with asyncio.timeout(30 * FACTOR):
        while not await condition():
            await asyncio.sleep(0.02)
