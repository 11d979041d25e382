"""A host that is full takes no jobs, from whichever of its queues: they wait for it, or go to a host that has room."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.temporal.connecting import connected
from rekindle.adapters.temporal.engine import TemporalEngine
from rekindle.adapters.temporal.worker import TemporalWorker
from rekindle.app.driving import HostFull
from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, FleetWork, Pulse
from tests.patience import FACTOR
from tests.temporal import end_the_server, the_server

pytestmark = pytest.mark.timeout(120)
_NUMBERS = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def server_of_these_tests() -> Iterator[None]:
    yield
    end_the_server()


@dataclass
class Host:
    """Drives `most` jobs at once, each until `over`, and refuses others as a full host does."""

    most: int
    under: dict[str, asyncio.Event] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    driven: list[str] = field(default_factory=list)

    async def drive(self, order: DriveOrder, pulse: Pulse) -> DriveEnd:
        if len(self.under) >= self.most:
            self.refused.append(order.job)
            raise HostFull("full", "another host takes it")
        self.under[order.job] = over = asyncio.Event()
        self.driven.append(order.job)
        while not over.is_set():
            await pulse.beat(DriveTold("a", order.job))
            await asyncio.wait([asyncio.ensure_future(over.wait())], timeout=0.3)
        del self.under[order.job]
        return DriveEnd("over", order.job, "a", None)


def work(queue: str) -> FleetWork:
    return FleetWork(job=f"f{time.time_ns() % 0x100000:05x}{next(_NUMBERS):03x}", queue=queue, heartbeat=3.0)


async def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 40 * FACTOR
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        await asyncio.sleep(0.02)


def play(story: Callable[[TemporalEngine, Callable[..., Host]], Awaitable[None]]) -> None:
    async def played() -> None:
        address, tasks = the_server().address, list[asyncio.Task[None]]()
        client = await connected(TemporalSettings(address), "a")

        def begin(most: int, *queues: str) -> Host:
            host = Host(most)
            tasks.append(asyncio.ensure_future(TemporalWorker(client, most, frozenset(queues)).run(host.drive)))
            return host

        try:
            await story(TemporalEngine(client, address), begin)
        finally:
            for one in tasks:
                one.cancel()
            _, late = await asyncio.wait(tasks, timeout=20 * FACTOR)
            assert not late, "a full host leaves at once, too"

    asyncio.run(played())


def test_a_full_host_is_given_two_more_jobs_by_each_queue_at_most_however_long_it_is_full() -> None:
    async def story(engine: TemporalEngine, begin: Callable[..., Host]) -> None:
        queues = [f"rekindle:scripted:full-{number}" for number in range(3)]
        host = begin(1, *queues)
        first = work(queues[0])
        await engine.submit(first)
        await until(lambda: host.driven)
        others = [work(queue) for queue in queues for _ in range(3)]
        for one in others:
            await engine.submit(one)
        began = time.monotonic()
        await until(lambda: time.monotonic() - began > 6)  # it would be given each again and again, once a second
        assert len(host.refused) <= 2 * len(queues), host.refused  # one that was being asked, one that was about to be
        assert host.driven == [first.job]
        for number in range(len(others) + 1):
            await until(partial(_has_driven, host, number))
            host.under[host.driven[number]].set()
        assert sorted(host.driven) == sorted(one.job for one in [first, *others]), "all had their turn"

    play(story)


def _has_driven(host: Host, number: int) -> bool:
    return len(host.driven) > number


def test_queues_in_which_nothing_waits_hold_no_place() -> None:
    async def story(engine: TemporalEngine, begin: Callable[..., Host]) -> None:
        queues = [f"rekindle:scripted:idle-{number}" for number in range(6)]
        host = begin(2, *queues)
        for _ in range(2):
            await engine.submit(work(queues[-1]))
        await until(lambda: len(host.under) == 2)
        for over in list(host.under.values()):
            over.set()

    play(story)
