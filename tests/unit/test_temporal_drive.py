"""What the drive activity makes of what happens around it, without a server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from rekindle.adapters.temporal.names import JOB_WORKFLOW, workflow_of
from rekindle.adapters.temporal.worker import _Driven
from rekindle.ports.errors import RekindleError
from rekindle.ports.fleet_engine import Drive, DriveEnd, DriveOrder, DriveTold, Heard, Pulse

ORDER = {"job": "f00000001", "number": 1, "heartbeat": 30.0}


def environment() -> ActivityEnvironment:
    """As if the job's own workflow had asked."""
    made = ActivityEnvironment()
    beat, name = timedelta(seconds=30), workflow_of("f00000001")
    made.info = replace(made.info, workflow_id=name, workflow_type=JOB_WORKFLOW, heartbeat_timeout=beat)
    return made


def driven(drive: Drive, answer: Exception | None = None) -> _Driven:
    """The activity, with a server that answers every heartbeat so."""

    async def heartbeat(*_details: Any, **_options: Any) -> None:
        if answer is not None:
            raise answer

    handle = SimpleNamespace(heartbeat=heartbeat)
    client = SimpleNamespace(get_async_activity_handle=lambda **_token: handle)
    return _Driven(cast("Client", client), drive, set())


def heard_of(answer: Exception | None) -> Heard:
    heard: list[Heard] = []

    async def drive(order: DriveOrder, pulse: Pulse) -> DriveEnd:
        heard.append(await pulse.beat(DriveTold("a")))
        return DriveEnd("over", order.job, "a")

    asyncio.run(environment().run(driven(drive, answer).drive, ORDER))
    return heard[0]


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (ActivityCancellationDetails(cancel_requested=True), "cancelled"),
        (ActivityCancellationDetails(paused=True), "lost"),
        (ActivityCancellationDetails(reset=True), "lost"),
    ],
)
def test_a_drive_that_an_operator_pauses_at_the_server_is_let_go_and_its_job_is_not_cancelled(
    details: ActivityCancellationDetails, expected: Heard
) -> None:
    assert heard_of(AsyncActivityCancelledError(details=details)) == expected
    assert heard_of(None) == "accepted"


def test_the_engine_is_told_what_a_drive_failed_of_only_in_words_that_were_written_for_it() -> None:
    async def fails(_order: DriveOrder, _pulse: Pulse) -> DriveEnd:
        raise ValueError("the prompt says: my password is precious")

    async def refuses(_order: DriveOrder, _pulse: Pulse) -> DriveEnd:
        raise RekindleError("the repository cannot be fetched", "push it")

    for drive, words in ((fails, "ValueError on this host"), (refuses, "the repository cannot be fetched")):
        with pytest.raises(ApplicationError) as told:
            asyncio.run(environment().run(driven(drive).drive, ORDER))
        assert words in told.value.message and "precious" not in repr(told.value)
        assert told.value.__cause__ is None, "the SDK would send the cause along"


def test_an_accepted_heartbeat_is_told_to_the_sdk_as_well_because_it_counts_the_time_on_its_own() -> None:
    async def drive(order: DriveOrder, pulse: Pulse) -> DriveEnd:
        await asyncio.create_task(pulse.beat(DriveTold("a", "s", 3)), name="a task of its own")
        return DriveEnd("over", order.job, "a")

    told: list[Any] = []
    stage = environment()
    stage.on_heartbeat = lambda *details: told.extend(details)
    asyncio.run(stage.run(driven(drive).drive, ORDER))
    assert [(one["host"], one["session"], one["attempt"]) for one in told] == [("a", "s", 3)]
