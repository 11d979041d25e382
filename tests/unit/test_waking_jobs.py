"""A session that wants its agent has its job driven, however it came to want it; nobody else is disturbed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from msgspec.structs import replace

from rekindle.app.fleet_job_service import FleetJobService
from rekindle.core.fleet.needs import queue_of_order
from rekindle.core.job import facts as jf
from rekindle.core.session import facts as f
from rekindle.ports.fleet_engine import DriveEnd, FleetWork
from rekindle.ports.fleet_jobs import PlacedJob
from rekindle.ports.hosts import HostReport
from tests.fakes.fleet_engine import FakeEngine
from tests.fakes.fleet_jobs import FakeFleetJobs
from tests.fakes.hosts import FakeHosts
from tests.fakes.placements import FakePlacements, Fleet
from tests.job_stage import order
from tests.sessions import created, folded

JOB = "f00000001"
QUEUE = queue_of_order(order())


def service(engine: FakeEngine, placed: dict[str, PlacedJob], fleet: Fleet | None = None) -> FleetJobService:
    async def connected() -> FakeEngine:
        return engine

    own: Any = None
    store: Any = None
    jobs = FakeFleetJobs(placed, set(), "a")
    jobs.submit(jf.JobSubmitted(at=1.0, job=JOB, order=order()), QUEUE)
    fleet = fleet or Fleet()
    parts = (jobs, FakePlacements(fleet, "a"), FakeHosts(fleet, "a"), store)
    return FleetJobService(own, *parts, connected, 30.0, lambda: 1.0)


@pytest.mark.parametrize("how", ["over", "waits", "unknown", "driven"])
def test_a_job_that_nobody_drives_is_driven_again_and_one_that_is_driven_is_left_alone(how: str) -> None:
    async def story() -> None:
        engine = FakeEngine()
        asked = service(engine, {})
        if how != "unknown":
            await engine.submit(FleetWork(JOB, QUEUE))
        taken = engine.take(frozenset({QUEUE}), "b")
        if how in ("over", "waits") and taken is not None:
            engine.ended(DriveEnd(how, JOB, "b"), taken[1])  # type: ignore[arg-type]
        await asked.wake_job(JOB)
        assert (await engine.state(JOB)).state == ("driven" if how == "driven" else "queued")

    asyncio.run(story())


def test_an_engine_that_has_forgotten_a_job_is_told_again_by_the_host_that_had_it_last_or_by_any_if_none_had() -> None:
    async def story() -> None:
        placed: dict[str, PlacedJob] = {}
        forgetful = FakeEngine()
        asked = service(forgetful, placed)
        others, over = "f00000002", "f00000003"
        for name, host in ((others, "b"), (over, "a")):
            FakeFleetJobs(placed, set(), host).submit(jf.JobSubmitted(at=1.0, job=name, order=order()), QUEUE)
            FakeFleetJobs(placed, set(), host).take(name, before="", at=1.0)
        placed[over] = PlacedJob(replace(placed[over].job, over="done"), "a")
        await asked.remind()
        assert (await forgetful.state(JOB)).state == "queued", "nobody has had it"
        assert (await forgetful.state(others)).state == "unknown", "its own host does that"
        assert (await forgetful.state(over)).state == "unknown", "there is nothing to do about it"

    asyncio.run(story())


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_job_whose_host_is_silent_says_so_and_one_whose_host_is_there_does_not(seconds: float) -> None:
    async def story() -> None:
        fleet, engine = Fleet(), FakeEngine()
        placed: dict[str, PlacedJob] = {}
        asked = service(engine, placed, fleet)
        FakeFleetJobs(placed, set(), "b").take(JOB, before="", at=1.0)
        step = replace(placed[JOB].job.steps[0], status="begun", session="5e55")
        placed[JOB] = PlacedJob(replace(placed[JOB].job, steps=(step,)), "b")
        fleet.begin(folded([created("5e55"), f.PromptQueued(at=2.0, prompt="p", text="x", by="user")]), "b")
        fleet.hosts["b"] = ("ready", time.monotonic() - seconds, HostReport(is_worker=True))
        job = (await asked.show(JOB)).job
        assert job.status == "running"
        said = "host b was last seen 1 min ago; no worker is running" if seconds else ""
        assert (job.why, job.next) == (said, "rekindle fleet status" if said else "")

    asyncio.run(story())
