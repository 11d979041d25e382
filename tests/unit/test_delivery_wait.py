"""Whoever sends a prompt waits a limited time for the agent to accept it; the prompt itself is never given up."""

from __future__ import annotations

import asyncio

import pytest

from rekindle.app import service
from rekindle.app.service import Service
from rekindle.core.session import facts as f
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_feature_races import NoPlaces
from tests.fakes.keepers import FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace
from tests.unit.test_supervisor import KINDS, Mute, settle


def test_a_sender_waits_90_seconds_at_most_and_the_prompt_is_delivered_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert service.DELIVERY_SECONDS == 90.0
    monkeypatch.setattr(service, "DELIVERY_SECONDS", 0.2)

    async def story() -> None:
        world, access = FakeWorld(), UnhurriedAccess()
        ticks = iter(range(1, 1_000_000))
        engine = Engine(access, lambda: next(ticks) / 1000)
        supervisor = Supervisor(engine, Mute(world), FakeWorkplace(), KINDS, FakeRecords(), settle_seconds=0.0)
        house = Service(supervisor, access, KINDS, places=NoPlaces())
        await engine.create(f.Created(at=0, session="s", agent="fake", cwd="/", policy="never"))
        try:
            told = await asyncio.wait_for(house.send("s", "hello", "p"), 30)
            assert (told.delivered, told.queued) == (False, 1)
            world.attempts["s", 1].frozen = False  # the agent comes up, late
            while [one.state for one in engine.session("s").prompts] == ["queued"]:
                await settle(world, 5)
            await settle(world, 50)
            assert [one.text for one in engine.session("s").prompts] == ["hello"]
            prompts = [one for one in world.attempts["s", 1].records if b"session/prompt" in one.payload]
            assert len(prompts) == 1
        finally:
            await supervisor.close()

    asyncio.run(story())
