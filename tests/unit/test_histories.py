"""Workflows of earlier versions go on: their recorded histories lead to the same commands today."""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, DriveWish, FleetWork

#: All that a structure of the port may tell, and what a workflow tells its next run.
FIELDS = {
    *("drives", "stopped_by", "has_begun"),
    *(name for one in (FleetWork, DriveOrder, DriveWish, DriveTold, DriveEnd) for name in one.__struct_fields__),
}
KEPT = sorted((Path(__file__).parent / "histories").glob("*.json"))


def test_there_are_histories() -> None:
    stories = ("done", "timer", "woken", "moved", "cancelled", "schedule")
    assert {one.stem for one in KEPT} >= {f"0.1-{story}" for story in stories}


@pytest.mark.parametrize("kept", KEPT, ids=lambda one: one.stem)
def test_a_recorded_history_is_replayed(kept: Path) -> None:
    from temporalio.client import WorkflowHistory
    from temporalio.worker import Replayer

    from rekindle.adapters.temporal.workflows import DueWorkflow, JobWorkflow

    async def replay() -> None:
        replayer = Replayer(workflows=[JobWorkflow, DueWorkflow])
        await replayer.replay_workflow(WorkflowHistory.from_json(kept.stem, kept.read_text()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asyncio.run(replay())


@pytest.mark.parametrize("kept", KEPT, ids=lambda one: one.stem)
def test_a_history_carries_ids_and_receipts_and_no_text(kept: Path) -> None:
    found = list(told_in(json.loads(kept.read_text())))
    assert any(one.get("job") for one in found), "it is read as it should be"
    for one in found:
        assert set(one) <= FIELDS, f"{kept.stem} tells the engine more than ids"
        assert all(len(value) <= 60 for value in one.values() if isinstance(value, str))


def told_in(history: Any) -> Iterator[dict[str, Any]]:
    """What was told to the engine, in the structures that the port knows."""
    if isinstance(history, list):
        for one in history:
            yield from told_in(one)
    elif isinstance(history, dict) and isinstance(history.get("data"), str):
        told = json.loads(base64.b64decode(history["data"]))
        if isinstance(told, dict):
            yield told
    elif isinstance(history, dict):
        for one in history.values():
            yield from told_in(one)
