"""Several people want something of one session while its store is busy with what the first one wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rekindle.app.requests import ResumeRequest
from rekindle.app.service import Service
from rekindle.app.session_view import BroughtBack
from rekindle.core.session import facts as f
from rekindle.core.session.state import State
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.crash.test_feature_races import NoPlaces
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace
from tests.unit.test_supervisor import KINDS, settle

Story = Callable[["House"], Awaitable[None]]
#: How many steps of the loop the second one comes behind the first: at some of them a commit is under way.
LATER = range(0, 24, 2)


class House:
    """A session that sleeps, and the operations that can be asked for."""

    def __init__(self) -> None:
        self.world = FakeWorld()
        access = UnhurriedAccess()
        ticks = iter(range(1, 1_000_000))
        self.engine = Engine(access, lambda: float(next(ticks)))
        self.supervisor = Supervisor(
            self.engine, FakeKeepers(self.world), FakeWorkplace(), KINDS, FakeRecords(), settle_seconds=0.0
        )
        self.service = Service(self.supervisor, access, KINDS, places=NoPlaces())

    async def begin(self) -> None:
        await self.engine.create(f.Created(at=0, session="s", agent="fake", cwd="/", policy="never"))
        await self.supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(self.world, 300)
        await self.supervisor.record("s", f.StopAsked(at=2, by="user", to="asleep"))
        await settle(self.world, 300)
        assert self.engine.session("s").state is State.WAITING_FOR_INPUT
        assert not self.engine.session("s").is_up

    async def at_once(self, later: int, *work: Awaitable[object]) -> list[object]:
        """What comes of things that are asked for one behind the other."""
        tasks = []
        for one in work:
            tasks.append(asyncio.ensure_future(one))
            for _ in range(later):
                await asyncio.sleep(0)
        await settle(self.world, 600)
        return await asyncio.gather(*tasks, return_exceptions=True)


def play(story: Story) -> None:
    async def run() -> None:
        house = House()
        await house.begin()
        try:
            await story(house)
        finally:
            await house.supervisor.close()

    asyncio.run(run())


@pytest.mark.parametrize("later", LATER)
def test_two_prompts_that_wake_a_session_leave_no_wish_behind(later: int) -> None:
    async def story(house: House) -> None:
        sent = [house.service.send("s", f"do {name}", name) for name in ("one", "two")]
        await house.at_once(later, *sent)
        found = house.engine.session("s")
        assert [text for _, text in house.world.executed] == ["hello", "do one", "do two"]
        assert found.resume_asked is None, "it would be started once more when its agent ends"
        assert len(found.attempts) == 2

    play(story)


@pytest.mark.parametrize("later", LATER)
def test_a_resume_behind_a_prompt_is_answered_at_once_and_starts_nothing(later: int) -> None:
    async def story(house: House) -> None:
        asked = ResumeRequest(session="s", by="user")
        _, told = await house.at_once(later, house.service.send("s", "go on", "one"), house.service.resume(asked))
        assert isinstance(told, OwnedError), told
        assert house.engine.session("s").resume_asked is None
        assert len(house.engine.session("s").attempts) == 2

    play(story)


@pytest.mark.parametrize("later", range(40))
def test_a_resume_of_one_that_comes_back_by_itself_at_that_moment_is_no_failure(later: int) -> None:
    async def story(house: House) -> None:
        await house.engine.create(f.Created(at=0, session="b", agent="fake", cwd="/", policy="continue"))
        await house.supervisor.record("b", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(house.world, 300)
        house.world.attempts["b", 1].frozen = True
        await house.supervisor.record("b", f.PromptQueued(at=2, prompt="q", text="go on"))
        await settle(house.world, 300)
        house.world.attempts["b", 1].die("killed by SIGKILL")
        asked = ResumeRequest(session="b", by="user")
        _, told = await house.at_once(later, settle(house.world, 5), house.service.resume(asked))
        assert isinstance(told, BroughtBack), told
        assert told.is_back
        found = house.engine.session("b")
        assert (len(found.attempts), found.resume_asked) == (2, None), "whoever was first, it was started once"
        assert told.by_itself == (not found.attempts[-1].asked_by)

    play(story)


@pytest.mark.parametrize("later", LATER)
def test_a_prompt_that_comes_behind_the_end_of_a_session_is_refused(later: int) -> None:
    async def story(house: House) -> None:
        stopped, sent = await house.at_once(
            later, house.service.stop("s", to="completed", by="user"), house.service.send("s", "go on", "one")
        )
        assert not isinstance(stopped, RekindleError)
        assert isinstance(sent, UsageError), sent
        assert house.engine.session("s").state is State.COMPLETED
        assert len(house.engine.session("s").attempts) == 1

    play(story)
