"""Crash schedules over fakes: the supervisor dies before and after every effect and every append, and starts again.

Whatever the schedule, it ends as an undisturbed run does: one agent at most, every prompt executed once, in order.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable, Iterable

import pytest

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.core.session import facts as f
from rekindle.core.session.history import request_of
from rekindle.core.session.state import State
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace

KINDS = {"fake": AgentKind("fake", "Fake", lambda _start: ("fake",), AcpDialect)}
SESSION = "s1"


Story = Callable[[Supervisor], Awaitable[None]]


class Crash(BaseException):
    """The supervisor's process is gone."""


class Schedule:
    """Crashes at the given points, counted from 0 over the whole story."""

    def __init__(
        self, at: tuple[int, ...] = (), *, killed_at: int | None = None, busy: bool = False, moments: int = 0
    ) -> None:
        self.at = set(at)
        self.moments = moments  # so long the store takes for everything, and others go on meanwhile
        self.killed_at = killed_at
        self.busy = busy  # the agent does what it was told before it dies
        self.world: FakeWorld | None = None
        self.passed = 0

    def point(self, name: str) -> None:
        here, self.passed = self.passed, self.passed + 1
        if here == self.killed_at and self.world is not None:
            if self.busy:
                self.world.settle()
            self.world.kill(SESSION)
        if here in self.at:
            raise Crash


class Life:
    """One world and one store, and as many supervisors as it takes."""

    def __init__(self, schedule: Schedule, kinds: dict[str, AgentKind] = KINDS) -> None:
        self.schedule = schedule
        self.world = schedule.world = FakeWorld()
        self.store = FakeStore()
        self.kinds = kinds
        self.records = FakeRecords()
        self.now = 0.0

    def supervisor(self) -> Supervisor:
        keepers = FakeKeepers(self.world)
        keepers.point = self.schedule.point  # type: ignore[method-assign]
        self.store.point = self.schedule.point  # type: ignore[method-assign]
        engine = Engine(UnhurriedAccess(self.store, self.schedule.moments), self._clock)
        return Supervisor(
            engine, keepers, FakeWorkplace(), self.kinds, self.records, settle_seconds=0.0, pause_seconds=0.0
        )

    def _clock(self) -> float:
        self.now += 1
        return self.now

    def in_order(self, said: Iterable[str]) -> list[str]:
        """What was said, in its order where there is one: people who do not wait for each other have none."""
        return sorted(said) if self.schedule.moments else list(said)

    def live(self, story: Story) -> None:
        """Let a supervisor live until all is quiet, or until it crashes, and then the next one."""
        for _ in range(10):
            try:
                asyncio.run(self._one_life(story))
                return
            except Crash:
                continue
        raise AssertionError("it never came to rest")

    async def _one_life(self, story: Story) -> None:
        supervisor = self.supervisor()
        failures: list[BaseException] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: failures.append(context.get("exception") or Crash()))
        try:
            await supervisor.start()
            await supervisor.settled()
            await story(supervisor)
            for name in [session.id for session in supervisor.engine.at_hand()]:
                await supervisor.advance(name)
            quiet = 0
            while quiet < 20 * (1 + self.schedule.moments):
                if supervisor.fault is not None:
                    raise supervisor.fault
                moved = self.world.settle()
                self.world.most_alive = max(self.world.most_alive, self.world.alive(SESSION))
                quiet = 0 if moved else quiet + 1
                await asyncio.sleep(0)
        finally:
            await supervisor.close()


def begin(prompts: list[str]) -> Story:
    """Create the session and its prompts, unless an earlier life did."""

    async def story(supervisor: Supervisor) -> None:
        engine = supervisor.engine
        if not await engine.all_sessions():
            await engine.create(f.Created(at=0, session=SESSION, agent="fake", cwd="/", policy="continue"))
        for number, text in enumerate(prompts):
            await engine.record(SESSION, f.PromptQueued(at=0, prompt=f"p{number}", text=text))

    return story


def begin_at_once(prompts: list[str]) -> Story:
    """The same, with prompts from people who do not wait for each other."""

    async def story(supervisor: Supervisor) -> None:
        await begin([])(supervisor)
        facts = [f.PromptQueued(at=0, prompt=f"p{number}", text=text) for number, text in enumerate(prompts)]
        await asyncio.gather(*(supervisor.record(SESSION, fact) for fact in facts))

    return story


def lived(schedule: Schedule) -> Life:
    told = begin_at_once if schedule.moments else begin
    life = Life(schedule)
    life.live(told(["one", "two"]))
    life.world.kill(SESSION)
    life.live(told(["one", "two", "three"]))
    return life


def check(life: Life) -> None:
    session = life.store.session(SESSION)
    assert session is not None
    assert life.in_order(text for _, text in life.world.executed) == life.in_order(["one", "two", "three"])
    assert {prompt.id: prompt.state for prompt in session.prompts} == {"p0": "done", "p1": "done", "p2": "done"}
    assert session.state is State.WAITING_FOR_INPUT
    assert life.world.most_alive <= 1
    assert life.world.refused == []
    assert len(life.world.conversations) == 1, "a fresh start was passed off as a resume"


def points() -> int:
    schedule = Schedule()
    check(lived(schedule))
    return schedule.passed


def test_an_undisturbed_life_is_as_expected() -> None:
    assert points() > 20


@pytest.mark.parametrize("at", range(points()))
def test_a_crash_at_any_point_changes_nothing(at: int) -> None:
    check(lived(Schedule((at,))))


@pytest.mark.parametrize("moments", [1, 4])
@pytest.mark.parametrize("at", range(points()))
def test_a_crash_at_any_point_changes_nothing_where_the_store_takes_its_time(at: int, moments: int) -> None:
    check(lived(Schedule((at,), moments=moments)))


PAIRS = random.Random(7).sample(list(itertools.combinations(range(points()), 2)), 250)


@pytest.mark.parametrize("chunk", range(10))
def test_two_crashes_at_any_points_change_nothing(chunk: int) -> None:
    for pair in PAIRS[chunk::10]:
        check(lived(Schedule(pair)))


def check_killed(life: Life) -> None:
    """An agent that died at an awkward moment: nothing is lost, and only talk of ours may have been repeated."""
    session = life.store.session(SESSION)
    assert session is not None
    said = [text for _, text in life.world.executed if not text.startswith("Your process was interrupted")]
    assert life.in_order(said) == life.in_order(["one", "two", "three"])
    assert not session.queued
    assert session.turn is None
    assert life.world.most_alive <= 1
    assert life.world.refused == []
    assert sum(bool(one.prompts) for one in life.world.conversations.values()) == 1, "a conversation was given up"


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("at", range(points()))
def test_an_agent_that_dies_at_any_point_gets_every_prompt_once(at: int, busy: bool) -> None:
    check_killed(lived(Schedule(killed_at=at, busy=busy)))


@pytest.mark.parametrize("moments", [1, 4])
@pytest.mark.parametrize("at", range(points()))
def test_an_agent_that_dies_at_any_point_gets_every_prompt_once_where_the_store_takes_its_time(
    at: int, moments: int
) -> None:
    check_killed(lived(Schedule(killed_at=at, moments=moments)))


@pytest.mark.parametrize("chunk", range(5))
def test_an_agent_that_dies_and_a_crash_at_any_points_lose_and_repeat_nothing(chunk: int) -> None:
    for killed, crash in random.Random(chunk).sample(list(itertools.product(range(points()), repeat=2)), 30):
        check_killed(lived(Schedule((crash,), killed_at=killed)))


def forgotten(schedule: Schedule) -> Life:
    """The agent loses the first prompt while nobody looks, and opens the conversation all the same."""
    life = Life(schedule)
    life.live(begin(["one", "two"]))
    life.world.kill(SESSION)
    del life.world.conversations["conv-1"].prompts[0]
    life.live(begin(["one", "two", "three"]))
    return life


def check_rebuilt(life: Life) -> None:
    """What was lost was told to a new conversation, once, and that is said."""
    session = life.store.session(SESSION)
    assert session is not None
    assert [request_of(text) for _, text in life.world.executed] == ["one", "two", "three"]
    assert "[USER]: one" in life.world.executed[-1][1]
    assert (session.token, session.lost) == ("conv-2", ["conv-1"])
    receipts = [one.receipt for one in session.attempts if one.receipt is not None]
    assert "same" not in {one.kind for one in receipts}
    assert any(one.kind == "rebuilt" and "lacks 1 of 2 earlier prompts" in one.reason for one in receipts)
    assert life.world.most_alive <= 1
    assert life.world.refused == []


def forgotten_points() -> int:
    schedule = Schedule()
    check_rebuilt(forgotten(schedule))
    return schedule.passed


@pytest.mark.parametrize("at", range(forgotten_points()))
def test_a_conversation_that_lacks_something_is_rebuilt_once_whatever_crashes(at: int) -> None:
    check_rebuilt(forgotten(Schedule((at,))))


@pytest.mark.soak
def test_all_pairs_of_crashes_change_nothing() -> None:
    for pair in itertools.combinations(range(points()), 2):
        check(lived(Schedule(pair)))
