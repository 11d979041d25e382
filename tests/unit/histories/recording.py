"""Records histories of the fleet's workflows, with a real Temporal server and hosts that only pretend to drive."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.temporal.connecting import connected
from rekindle.adapters.temporal.engine import TemporalEngine
from rekindle.adapters.temporal.names import workflow_of
from rekindle.adapters.temporal.worker import TemporalWorker
from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, DriveWish, FleetWork, Pulse
from tests.temporal import the_server

HERE = Path(__file__).parent
QUEUE = "rekindle:scripted:"


_SEEN: set[str] = set()


def _first(order: DriveOrder) -> bool:
    """A drive that fails is tried again under the same number."""
    is_first = order.job not in _SEEN
    _SEEN.add(order.job)
    return is_first


async def drive(order: DriveOrder, pulse: Pulse) -> DriveEnd:
    """The last digit of the job says what happens to it first; the second drive ends it."""
    story = order.job[-1]
    if order.number > 1 or order.cancel_by or story == "0":
        return DriveEnd("over", order.job, "a", result="done", session="s1", receipt="s1/1")
    if story == "1" and _first(order):
        raise RuntimeError("this host cannot")
    if story == "1":
        return DriveEnd("over", order.job, "a", result="done")
    if story == "2":
        return DriveEnd("waits", order.job, "a", time.time() + 1)
    if story == "3":
        return DriveEnd("waits", order.job, "a")
    if story == "4":
        return DriveEnd("moved", order.job, "a")
    while await pulse.beat(DriveTold("a")) != "cancelled":
        await asyncio.sleep(0.2)
    return DriveEnd("over", order.job, "a", result="cancelled")


async def main(name: str) -> None:
    """Play every story, and write down its history."""
    client = await connected(TemporalSettings(the_server().address), "a")
    engine, worker = TemporalEngine(client, ""), TemporalWorker(client, 8, frozenset({QUEUE}))
    running = asyncio.ensure_future(worker.run(drive))
    stories = ("done", "tried again", "timer", "woken", "moved", "cancelled")
    for number, story in enumerate(stories):
        work = FleetWork(f"f000000{number:02}", QUEUE, heartbeat=5.0)
        await engine.submit(work)
        if story in ("woken", "cancelled"):
            wanted = "waiting" if story == "woken" else "driven"
            while (await engine.state(work.job)).state != wanted:
                await asyncio.sleep(0.1)
        if story == "woken":
            await engine.wake(work, "m1", DriveWish("alice", 1.0, "resume"))
        if story == "cancelled":
            await engine.cancel(work, "alice", has_begun=True)
        while (await engine.state(work.job)).state != "over":
            await asyncio.sleep(0.1)
        history = await client.get_workflow_handle(workflow_of(work.job)).fetch_history()
        (HERE / f"{name}-{story.replace(' ', '-')}.json").write_text(history.to_json() + "\n")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
