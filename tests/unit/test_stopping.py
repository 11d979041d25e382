"""What is told of agents that are asked to end: only those that have ended are called stopped."""

from __future__ import annotations

import asyncio

import pytest

from rekindle.app import service
from rekindle.app.service import Service
from rekindle.app.signing import refuse_signature
from rekindle.app.stopping import StoppedAll
from rekindle.core.feature.talks import signed
from rekindle.core.session import facts as f
from rekindle.ports.errors import RekindleError, UsageError
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_feature_races import NoPlaces
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace
from tests.unit.test_supervisor import KINDS, settle


class Stubborn(FakeKeepers):
    """The agent of the session `deaf` does not end, whoever asks it to."""

    async def end(self, session: str, attempt: int, reason: str) -> None:
        if session != "deaf":
            await super().end(session, attempt, reason)


class House:
    """Two sessions with agents, one of which does not end."""

    def __init__(self) -> None:
        self.world = FakeWorld()
        access = UnhurriedAccess()
        ticks = iter(range(1, 1_000_000))
        self.engine = Engine(access, lambda: float(next(ticks)))
        keepers, workplace = Stubborn(self.world), FakeWorkplace()
        self.supervisor = Supervisor(self.engine, keepers, workplace, KINDS, FakeRecords(), settle_seconds=0.0)
        self.service = Service(self.supervisor, access, KINDS, places=NoPlaces())

    async def begin(self) -> None:
        for name in ("good", "deaf"):
            await self.engine.create(f.Created(at=0, session=name, agent="fake", cwd="/", policy="never"))
            await self.supervisor.record(name, f.PromptQueued(at=1, prompt=name, text="hello"))
        await settle(self.world, 300)
        assert all(self.engine.session(name).is_up for name in ("good", "deaf"))


async def settling(house: House) -> None:
    while True:
        await settle(house.world, 1)


async def stop_all(house: House) -> StoppedAll:
    world = asyncio.ensure_future(settling(house))
    try:
        return await house.service.stop_all(to="asleep", by="me")
    finally:
        world.cancel()


def test_an_agent_that_does_not_end_is_not_called_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "END_SECONDS", 0.5)

    async def story() -> None:
        house = House()
        await house.begin()
        try:
            told = await stop_all(house)
            assert told.stopped == ["good"]
            assert [one.id for one in told.failed] == ["deaf"]
            assert "still running" in told.failed[0].reason
            assert "rekindle stop deaf" in told.failed[0].next
            with pytest.raises(RekindleError, match="deaf: its agent is still running"):
                await house.service.stop("deaf", to="asleep", by="me")
        finally:
            await house.supervisor.close()

    asyncio.run(story())


@pytest.mark.parametrize("name", [signed("1"), f" {signed('1')}", "rekindle", "Rekindle ", "", " "])
def test_nobody_signs_as_a_run_or_as_rekindle_or_with_no_name(name: str) -> None:
    with pytest.raises(UsageError):
        refuse_signature(name)
    refuse_signature("me")
