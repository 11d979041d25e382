"""Starts that fail, over fakes: what the supervisor tries again, and what it leaves alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session, State
from rekindle.core.session.status import word
from rekindle.ports.errors import RekindleError, WorktreeLost
from rekindle.ports.keepers import AttemptOrder, NoRoomToStart, ProgramMissing, StartedAttempt
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import InlineAccess
from tests.fakes.workplace import FakeWorkplace

KINDS = {"fake": AgentKind("fake", "Fake", lambda _start: ("fake",), AcpDialect, missing="install it")}


class Failing(FakeKeepers):
    """Cannot start an agent so many times, or while something is missing."""

    def __init__(self, world: FakeWorld, *errors: RekindleError) -> None:
        super().__init__(world)
        self.errors = list(errors)
        self.tried = 0

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        self.tried += 1
        if self.world.obstacle is not None:
            raise ProgramMissing(self.world.obstacle, details={"program": "fake"})
        if self.errors:
            raise self.errors.pop(0)
        return await super().launch(order)


def play(
    keepers: FakeKeepers, story: Callable[[Supervisor], Awaitable[None]], workplace: FakeWorkplace | None = None
) -> Engine:
    engine = Engine(InlineAccess(), lambda: 0.0)

    async def run() -> None:
        engine.clock = asyncio.get_running_loop().time
        supervisor = Supervisor(engine, keepers, workplace or FakeWorkplace(), KINDS, FakeRecords(), settle_seconds=0.0)
        try:
            await story(supervisor)
        finally:
            await supervisor.close()

    with asyncio.Runner(loop_factory=lambda: in_no_time(asyncio.new_event_loop())) as runner:
        runner.run(run())
    return engine


def in_no_time(loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
    """A loop whose clock jumps to the next thing that is waited for, instead of waiting for it."""
    skipped = 0.0
    time, selector = loop.time, loop._selector  # type: ignore[attr-defined]
    select = selector.select

    def jump(timeout: float | None = None) -> object:
        nonlocal skipped
        events = select(0)
        if not events and timeout:
            skipped += timeout
        return events

    loop.time = lambda: time() + skipped  # type: ignore[method-assign]
    selector.select = jump
    return loop


async def pass_time(world: FakeWorld, seconds: float) -> None:
    until = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < until:
        world.settle()
        await asyncio.sleep(max(0.02, seconds / 1000))


def created(policy: str = "ask") -> f.Created:
    return f.Created(at=0, session="s", agent="fake", cwd="/", policy=policy)


def prompt(name: str = "p") -> f.PromptQueued:
    return f.PromptQueued(at=1, prompt=name, text="hello")


@pytest.mark.parametrize("error", [ProgramMissing("gone"), NoRoomToStart("full"), RekindleError("the guard died")])
def test_a_start_that_fails_once_is_tried_again_for_a_prompt_that_waits(error: RekindleError) -> None:
    world = FakeWorld()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created())
        await supervisor.record("s", prompt())
        session = supervisor.engine.session("s")
        assert (session.state, word(session, alive=False)) == (State.STARTING, "interrupted")
        assert error.message in session.message
        await pass_time(world, 10)

    engine = play(Failing(world, error), story)
    assert [one.state for one in engine.session("s").prompts] == ["done"]
    assert world.executed == [("s", "hello")]


def test_no_attempt_is_spent_on_a_program_that_is_still_missing_and_none_is_lost_when_it_is_back() -> None:
    world = FakeWorld()
    world.obstacle = "fake is not there"
    keepers = Failing(world)

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("continue"))
        await supervisor.record("s", prompt())
        await pass_time(world, 24 * 3600)
        session = supervisor.engine.session("s")
        assert (keepers.tried, len(session.attempts), session.left("restarts")) == (1, 1, 3)
        assert "install it" in session.message
        world.obstacle = None
        await pass_time(world, 120)

    engine = play(keepers, story)
    assert [one.state for one in engine.session("s").prompts] == ["done"]
    assert keepers.tried == 2


def test_a_person_who_asks_is_not_put_off() -> None:
    world = FakeWorld()
    world.obstacle = "fake is not there"
    keepers = Failing(world)

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("continue"))
        await supervisor.record("s", prompt())
        await pass_time(world, 3600)
        world.obstacle = None
        await supervisor.record("s", f.ResumeAsked(at=2, by="me"))
        await pass_time(world, 0.2)

    engine = play(keepers, story)
    assert [one.state for one in engine.session("s").prompts] == ["done"]


def test_starts_that_fail_for_ever_end_with_the_budget_and_the_session_stays_interrupted() -> None:
    world = FakeWorld()
    keepers = Failing(world, *(RekindleError("the guard died") for _ in range(99)))

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("continue"))
        await supervisor.record("s", prompt())
        await pass_time(world, 24 * 3600)

    session = play(keepers, story).session("s")
    assert (keepers.tried, session.left("restarts")) == (4, 0)
    assert word(session, alive=False) == "interrupted"
    assert [one.state for one in session.prompts] == ["queued"]


class Locked(FakeWorkplace):
    """The folder is gone and cannot be built again."""

    async def ready(self, session: Session) -> list[str]:
        raise WorktreeLost("its worktree is locked", "unlock it")


def test_only_a_folder_that_cannot_be_built_again_fails_the_session() -> None:
    world = FakeWorld()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("continue"))
        await supervisor.record("s", prompt())
        await pass_time(world, 3600)

    session = play(FakeKeepers(world), story, Locked()).session("s")
    assert (session.state, session.message, len(session.attempts)) == (State.FAILED, "its worktree is locked", 1)


class Refusing(FakeWorld):
    """An agent that will not open a conversation, in words that nobody knows, the first times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    def _handle(self, one: object, message: dict[str, object]) -> None:
        if message.get("method") == "session/new" and self.left:
            self.left -= 1
            error = {"code": -32603, "message": "the moon is wrong"}
            self._write(one, {"jsonrpc": "2.0", "id": message["id"], "error": error})  # type: ignore[arg-type]
        else:
            super()._handle(one, message)  # type: ignore[arg-type]


def test_a_refusal_in_unknown_words_is_no_end_and_the_prompt_is_delivered_when_it_opens() -> None:
    world = Refusing(2)

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created())
        await supervisor.record("s", prompt())
        await pass_time(world, 1)
        session = supervisor.engine.session("s")
        assert (word(session, alive=False), "the moon is wrong" in session.message) == ("interrupted", True)
        await pass_time(world, 60)

    engine = play(FakeKeepers(world), story)
    assert [one.state for one in engine.session("s").prompts] == ["done"]
    assert len(engine.session("s").attempts) == 3
    assert world.most_alive <= 1


def test_a_stop_that_comes_while_a_start_fails_stands() -> None:
    session_facts: list[f.AnyFact] = [
        f.LaunchIntended(at=2, attempt=1, generation=1, how="new"),
        f.StopAsked(at=3, by="me", to="cancelled"),
        f.LaunchFailed(at=4, attempt=1, message="gone"),
    ]
    engine = Engine(InlineAccess(), lambda: 5.0)

    async def story() -> Session:
        await engine.create(created("continue"))
        return await engine.record("s", *session_facts)

    session = asyncio.run(story())
    assert (session.state, session.stop_asked, engine.due("s")) == (State.CANCELLED, None, [])


def test_what_is_missing_is_told_also_where_the_agent_had_died_for_another_reason() -> None:
    world = FakeWorld()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("continue"))
        await supervisor.record("s", prompt())
        world.kill("s")
        world.obstacle = "no program"
        await pass_time(world, 300)

    session = play(Failing(world), story).session("s")
    assert session.attempt is not None and session.attempt.blocked
    assert "no program" in session.message
