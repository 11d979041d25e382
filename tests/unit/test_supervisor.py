"""The supervisor in situations that a whole machine seldom gets into."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.core.session import facts as f
from rekindle.core.session.rules import BUILT_IN, Rules
from rekindle.core.session.state import Session, State
from rekindle.core.session.status import word
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import AttemptOrder, StartedAttempt
from rekindle.ports.store import DamagedStore, Recorded, StaleGeneration, StoreChange, StoreError
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, InlineAccess
from tests.fakes.workplace import FakeWorkplace

KINDS = {"fake": AgentKind("fake", "Fake", lambda _start: ("fake",), AcpDialect)}


def created(name: str) -> f.Created:
    return f.Created(at=0, session=name, agent="fake", cwd="/", policy="continue")


def play(
    keepers: FakeKeepers,
    story: Callable[[Supervisor], Awaitable[None]],
    workplace: FakeWorkplace | None = None,
    store: FakeStore | None = None,
    rules: Rules = BUILT_IN,
    settle_seconds: float = 0.0,
) -> Engine:
    ticks = iter(range(1, 100_000))
    engine = Engine(InlineAccess(store or FakeStore()), lambda: float(next(ticks)), rules)

    async def run() -> None:
        place = workplace or FakeWorkplace()
        supervisor = Supervisor(
            engine, keepers, place, KINDS, FakeRecords(), settle_seconds=settle_seconds, pause_seconds=0.0
        )
        try:
            await story(supervisor)
        finally:
            await supervisor.close()

    asyncio.run(run())
    return engine


async def settle(world: FakeWorld, rounds: int = 60) -> None:
    for _ in range(rounds):
        world.settle()
        await asyncio.sleep(0)


class Mute(FakeKeepers):
    """Starts agents that never say a word."""

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        running = await super().launch(order)
        self.world.attempts[order.session, order.attempt].frozen = True
        return running


def test_a_start_that_takes_too_long_is_given_up_with_a_sentence_and_the_session_is_interrupted() -> None:
    world = FakeWorld()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(f.Created(at=0, session="s", agent="fake", cwd="/", policy="never"))
        await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(world)
        [until] = supervisor.engine.session("s").timers.values()
        await supervisor.record("s", f.Due(at=until, timer="start", until=until))
        while supervisor.engine.session("s").is_up:
            await asyncio.sleep(0)
            world.settle()

    engine = play(Mute(world), story, rules=Rules())
    session = engine.session("s")
    assert (session.state, word(session, alive=False)) == (State.STARTING, "interrupted")
    assert "not ready after 60 s" in session.message
    assert world.alive("s") == 0


class Asked(FakeKeepers):
    """Somebody asks about a session before its keeper is there, and after."""

    def point(self, name: str) -> None:
        if self.ask is not None:
            self.told[name] = self.ask("s")

    ask: Callable[[str], bool] | None = None

    def __init__(self, world: FakeWorld) -> None:
        super().__init__(world)
        self.told: dict[str, bool] = {}


def test_an_agent_that_is_being_started_is_not_taken_to_be_gone() -> None:
    world = FakeWorld()
    keepers = Asked(world)

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("s"))
        assert not supervisor.is_launching("s")
        keepers.ask = supervisor.is_launching
        await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(world)
        assert not supervisor.is_launching("s")

    play(keepers, story)
    assert keepers.told["before launch"]


def taken_over(keepers: type[FakeKeepers], *names: str) -> Engine:
    """What a second daemon, with these keepers, makes of sessions that the first one began."""
    world, store = FakeWorld(), FakeStore()

    async def begin(supervisor: Supervisor) -> None:
        for name in names:
            await supervisor.engine.create(created(name))
            await supervisor.record(name, f.PromptQueued(at=1, prompt="p", text="hello"))

    async def take_over(supervisor: Supervisor) -> None:
        await supervisor.start()
        await supervisor.settled()
        await settle(world)

    play(FakeKeepers(world), begin, store=store)
    return play(keepers(world), take_over, store=store)


class Refusing(FakeKeepers):
    """One keeper speaks a protocol that we do not know."""

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        if session == "old":
            raise RekindleError(
                "its keeper speaks protocol 99, we speak 1 to 1", "stop it with the rekindle that began it"
            )
        return await super().connect(session, attempt, generation)


def test_an_old_keeper_is_refused_with_a_sentence_and_holds_nobody_up() -> None:
    engine = taken_over(Refusing, "old", "young")
    assert "protocol 99" in engine.session("old").notices[0]
    assert engine.session("young").prompts[0].state == "done"


def test_a_writer_that_was_overtaken_is_refused() -> None:
    store = FakeStore()

    async def story() -> None:
        old = Engine(InlineAccess(store), lambda: 1.0)
        await old.create(created("s"))
        new = Engine(InlineAccess(store), lambda: 2.0)
        await new.record("s", f.Adopted(at=2.0, generation=1))
        await new.record("s", f.PromptQueued(at=3.0, prompt="p", text="keep me"))
        with pytest.raises(StaleGeneration):
            await old.record("s", f.LaunchIntended(at=4.0, attempt=1, generation=1, how="new"))

    asyncio.run(story())
    kept = store.session("s")
    assert kept is not None
    assert [prompt.text for prompt in kept.prompts] == ["keep me"]


class Slow(FakeWorkplace):
    """Takes its time to get ready."""

    def __init__(self) -> None:
        super().__init__()
        self.looking = asyncio.Event()
        self.go_on = asyncio.Event()

    async def ready(self, session: Session) -> list[str]:
        self.looking.set()
        await self.go_on.wait()
        return []


def test_a_stop_that_comes_while_a_start_is_prepared_is_obeyed_and_can_be_undone() -> None:
    world = FakeWorld()
    place = Slow()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("s"))
        start = asyncio.ensure_future(supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello")))
        await place.looking.wait()
        stop = asyncio.ensure_future(supervisor.record("s", f.StopAsked(at=2, by="user", to="cancelled")))
        await asyncio.sleep(0)
        place.go_on.set()
        await asyncio.gather(start, stop)
        assert (world.alive("s"), supervisor.engine.session("s").state) == (0, State.CANCELLED)
        await supervisor.record("s", f.ResumeAsked(at=3, by="user"))
        await settle(world)

    engine = play(FakeKeepers(world), story, place)
    assert engine.session("s").prompts[0].state == "done"


def test_each_turn_begins_once_with_its_first_word() -> None:
    world = FakeWorld()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("s"))
        for name in ("p1", "p2"):
            await supervisor.record("s", f.PromptQueued(at=1, prompt=name, text=name))
        await settle(world, 200)

    store = FakeStore()
    play(FakeKeepers(world), story, store=store)
    began = [one.fact.prompt for one in store.facts("session", "s") if isinstance(one.fact, f.TurnBegan)]
    assert began == ["p1", "p2"]


def test_nothing_is_concluded_from_a_past_that_an_agent_did_not_live_to_show() -> None:
    world = FakeWorld()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("s"))
        await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(world)
        world.kill("s")
        await settle(world)

    async def story_again(supervisor: Supervisor) -> None:
        await supervisor.start()
        await supervisor.settled()
        await supervisor.record("s", f.ResumeAsked(at=2, by="user"))
        await settle(world)
        assert supervisor.engine.session("s").attempts[-1].status == "up"
        world.kill("s")
        await settle(world)

    store = FakeStore()
    play(FakeKeepers(world), story, store=store)
    engine = play(FakeKeepers(world), story_again, store=store, settle_seconds=3600.0)  # it goes on showing
    first, second = engine.session("s").attempts[:2]
    assert (first.opened, second.how, second.status) == (True, "load", "gone")
    assert (second.opened, second.receipt) == (False, None)


class FailingAt(FakeStore):
    """Cannot do one commit, by its number."""

    def __init__(self, number: int, error: RekindleError) -> None:
        super().__init__()
        self.left = number
        self.error = error

    def point(self, name: str) -> None:
        if name == "before commit":
            self.left -= 1
            if self.left == 0:
                raise self.error


def play_with(store: FailingAt) -> tuple[Engine, FakeWorld, Supervisor]:
    """One prompt to its end, as far as the store lets it."""
    world = FakeWorld()
    played: list[Supervisor] = []

    async def story(supervisor: Supervisor) -> None:
        played.append(supervisor)
        await supervisor.engine.create(created("s"))
        await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(world, 300)

    engine = play(FakeKeepers(world), story, store=store)
    assert store.left <= 0, "it has failed in this story"
    return engine, world, played[0]


@pytest.mark.parametrize("number", range(3, 8))
def test_a_disk_that_is_full_for_a_moment_holds_nothing_up(number: int) -> None:
    full = StoreError("the disk is full", "Free some room.", code="disk_full")
    engine, world, supervisor = play_with(FailingAt(number, full))
    assert [prompt.state for prompt in engine.session("s").prompts] == ["done"]
    assert world.executed == [("s", "hello")]
    assert not supervisor.broken.is_set()


def test_a_daemon_that_was_overtaken_leaves_and_one_whose_store_is_damaged_begins_anew() -> None:
    opening = 5  # nobody asked for it, and nobody waits for it
    overtaken = play_with(FailingAt(opening, StaleGeneration("a newer one has it")))[2]
    damaged = play_with(FailingAt(opening, DamagedStore("damaged", "Start again.")))[2]
    assert (overtaken.superseded.is_set(), overtaken.broken.is_set()) == (True, False)
    assert (damaged.superseded.is_set(), damaged.broken.is_set()) == (False, True)


def test_a_disk_that_is_full_when_a_daemon_takes_up_an_agent_does_not_leave_it_unattended() -> None:
    world, store = FakeWorld(), FailingAt(0, StoreError("the disk is full", "Free some room."))

    async def begin(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("s"))
        await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        while not any(b"session/prompt" in one.payload for one in world.attempts["s", 1].records):
            world.settle()
            await asyncio.sleep(0)

    play(FakeKeepers(world), begin, store=store)
    world.settle()  # it has answered, and nobody was there to hear it
    store.left = 2  # behind its adoption

    async def take_over(supervisor: Supervisor) -> None:
        await supervisor.start()
        await supervisor.settled()
        await settle(world)

    engine = play(FakeKeepers(world), take_over, store=store)
    assert store.left < 0
    assert [prompt.state for prompt in engine.session("s").prompts] == ["done"]
    assert world.executed == [("s", "hello")]


class Overtaken(FakeStore):
    """A newer daemon takes a session over before the end of its agent is written down."""

    def commit(self, changes: Sequence[StoreChange]) -> list[list[Recorded] | StaleGeneration]:
        if any(isinstance(fact, f.Exited) for change in changes for fact in change.facts):
            return [StaleGeneration("it was taken over") for _ in changes]
        return super().commit(changes)


def test_a_daemon_that_is_overtaken_while_it_starts_comes_to_the_end_of_its_start() -> None:
    world, store = FakeWorld(), Overtaken()

    async def begin(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("s"))
        await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(world)

    play(FakeKeepers(world), begin, store=store)
    world.kill("s")

    async def start(supervisor: Supervisor) -> None:
        async with asyncio.timeout(5):
            await supervisor.start()
            await supervisor.settled()
        assert supervisor.superseded.is_set()

    play(FakeKeepers(world), start, store=store)


class Unsayable(FakeKeepers):
    """A start fails because some text is none that a program can be given."""

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        if order.session == "bad":
            "\ud800".encode()
        return await super().launch(order)


def test_text_that_no_program_can_be_given_is_a_start_that_fails() -> None:
    world = FakeWorld()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(f.Created(at=0, session="bad", agent="fake", cwd="/", policy="never"))
        await supervisor.record("bad", f.PromptQueued(at=1, prompt="p", text="hello"))

    session = play(Unsayable(world), story).session("bad")
    assert "surrogates not allowed" in session.message
    assert not session.is_up


class Faulty(FakeKeepers):
    """One session brings out a fault of ours."""

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        if session == "bad":
            raise KeyError("nobody foresaw this")
        return await super().connect(session, attempt, generation)


def test_a_fault_over_one_session_does_not_keep_the_daemon_from_starting() -> None:
    engine = taken_over(Faulty, "bad", "good")
    assert "nobody foresaw this" in engine.session("bad").notices[0]
    assert engine.session("good").prompts[0].state == "done"


class Barred(FakeKeepers):
    """Starts no agent before it may."""

    gate: asyncio.Event

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        await self.gate.wait()
        return await super().launch(order)


def test_a_daemon_can_be_asked_while_it_still_starts_agents() -> None:
    world, store = FakeWorld(), FakeStore()

    async def begin(supervisor: Supervisor) -> None:
        for name in ("a", "b"):
            await supervisor.engine.create(created(name))
            await supervisor.engine.record(name, f.PromptQueued(at=1, prompt="p", text=f"hello {name}"))

    async def start(supervisor: Supervisor) -> None:
        keepers.gate = asyncio.Event()
        async with asyncio.timeout(30):
            await supervisor.start()
        assert world.attempts == {}, "nobody has been started yet"
        assert {one.id for one in await supervisor.engine.all_sessions()} == {"a", "b"}
        keepers.gate.set()
        await supervisor.settled()
        await settle(world)

    keepers = Barred(world)
    play(keepers, begin, store=store)
    engine = play(keepers, start, store=store)
    assert sorted(world.executed) == [("a", "hello a"), ("b", "hello b")]
    assert [one.prompts[0].state for one in engine.at_hand()] == ["done", "done"]
