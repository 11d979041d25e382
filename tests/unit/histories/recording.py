"""Records histories of the fleet's workflows, with a real Temporal server and hosts that only pretend to drive."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from temporalio.client import Client, ScheduleActionExecutionStartWorkflow, WorkflowHistory

from rekindle.adapters.machine.fleet_settings import TemporalSettings
from rekindle.adapters.temporal.connecting import connected
from rekindle.adapters.temporal.engine import TemporalEngine
from rekindle.adapters.temporal.names import workflow_of
from rekindle.adapters.temporal.worker import TemporalWorker
from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, DriveWish, FleetSchedule, FleetWork, Pulse
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
    """The job's last digit says what happens first. The second drive ends the job; one of a schedule ends at once."""
    story = order.job[-1]
    if order.number > 1 or order.cancel_by or order.of or story == "0":
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


async def _of_a_job(client: Client, engine: TemporalEngine, work: FleetWork, story: str) -> WorkflowHistory:
    """What one job leaves, with what somebody says to it in the story."""
    await engine.submit(work)
    if story in ("woken", "cancelled"):
        await _until(engine, work, "waiting" if story == "woken" else "driven")
    if story == "woken":
        await engine.wake(work, "m1", DriveWish("alice", 1.0, "resume"))
    if story == "cancelled":
        await engine.cancel(work, "alice", has_begun=True)
    await _until(engine, work, "over")
    return await client.get_workflow_handle(workflow_of(work.job)).fetch_history()


async def _until(engine: TemporalEngine, work: FleetWork, wanted: str) -> None:
    while (await engine.state(work.job)).state != wanted:
        await asyncio.sleep(0.1)


async def _of_a_schedule(client: Client, engine: TemporalEngine, work: FleetWork) -> WorkflowHistory:
    """What one time of a schedule leaves. It is due now, and not at New Year."""
    await engine.schedule(FleetSchedule(work, "0 0 1 1 *", "UTC"))
    schedule = client.get_schedule_handle(workflow_of(work.job))
    await schedule.trigger()
    while not (begun := [one.action for one in (await schedule.describe()).info.recent_actions]):
        await asyncio.sleep(0.1)
    await engine.end_schedule(work.job)
    assert isinstance(begun[0], ScheduleActionExecutionStartWorkflow)
    handle = client.get_workflow_handle(begun[0].workflow_id)
    await handle.result()
    return await handle.fetch_history()


async def main(name: str) -> None:
    """Play every story of which there is no history yet, and write down its history."""
    client = await connected(TemporalSettings(the_server().address), "a")
    engine, worker = TemporalEngine(client, ""), TemporalWorker(client, 8, frozenset({QUEUE}))
    running = asyncio.ensure_future(worker.run(drive))
    stories = ("done", "tried again", "timer", "woken", "moved", "cancelled", "schedule")
    for number, story in enumerate(stories):
        file = HERE / f"{name}-{story.replace(' ', '-')}.json"
        if file.exists():
            continue
        work = FleetWork(f"f000000{number:02}", QUEUE, heartbeat=5.0)
        if story == "schedule":
            history = await _of_a_schedule(client, engine, work)
        else:
            history = await _of_a_job(client, engine, work, story)
        file.write_text(history.to_json() + "\n")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
