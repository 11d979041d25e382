"""What is in memory and what is on disk: whoever asks for a session finds it, as it is, also if it was let go of."""

from __future__ import annotations

import asyncio

import pytest

from rekindle.app.questions import Questions
from rekindle.core.session import facts as f
from rekindle.core.session.state import State
from rekindle.ports.errors import NoSuchQuestion
from rekindle.ports.store import StoreError
from rekindle.runtime.ending import end_agent
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore, InlineAccess, UnhurriedAccess
from tests.fakes.workplace import FakeWorkplace
from tests.sessions import booked, facts_of
from tests.unit.test_supervisor import KINDS, created, play, settle


async def _asleep(supervisor: Supervisor, world: FakeWorld) -> None:
    """A session that has done its work, and whose agent has ended."""
    await supervisor.engine.create(created("s"))
    await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
    await settle(world)
    await supervisor.record("s", f.StopAsked(at=2, by="user", to="asleep"))
    await settle(world)
    assert not supervisor.engine.session("s").is_up


def test_the_agent_of_a_session_that_sleeps_is_ended_by_the_next_daemon() -> None:
    world, store = FakeWorld(), FakeStore()
    play(FakeKeepers(world), lambda supervisor: _asleep(supervisor, world), store=store)

    async def later(supervisor: Supervisor) -> None:
        await supervisor.start()
        await supervisor.settled()
        assert supervisor.engine.at_hand() == []
        await end_agent(supervisor, "s", by="feature search", to="cancelled")

    play(FakeKeepers(world), later, store=store)
    found = store.session("s")
    assert found is not None
    assert found.state is State.CANCELLED


def test_a_session_that_is_let_go_of_while_its_end_is_waited_for_is_no_fault() -> None:
    world, store = FakeWorld(), FakeStore()

    async def story(supervisor: Supervisor) -> None:
        await supervisor.engine.create(created("s"))
        await supervisor.record("s", f.PromptQueued(at=1, prompt="p", text="hello"))
        await settle(world)
        ending = asyncio.ensure_future(end_agent(supervisor, "s", by="feature search", to="completed"))
        while supervisor.engine.in_memory("s") is not None:
            world.settle()
            supervisor.release()
            await asyncio.sleep(0)
        await ending

    play(FakeKeepers(world), story, store=store)


def test_writers_of_a_session_that_is_let_go_of_meanwhile_come_one_after_the_other() -> None:
    store = FakeStore()

    async def story() -> None:
        engine = Engine(UnhurriedAccess(store), lambda: 1.0)
        await engine.create(created("s"))
        await engine.record("s", f.StopAsked(at=1, by="user", to="completed"))
        work = []
        for number in range(30):
            work.append(asyncio.ensure_future(engine.record("s", f.Noticed(at=2, message=f"notice {number}"))))
            for _ in range(5):
                await asyncio.sleep(0)
                engine.forget("s")
        await asyncio.gather(*work)

    asyncio.run(story())
    found = store.session("s")
    assert found is not None
    assert found == booked(facts_of(store.facts("session", "s")))


class Failing(FakeStore):
    """Loses its place right behind a commit."""

    fails = False

    def point(self, name: str) -> None:
        if name == "after commit" and self.fails:
            self.fails = False
            raise StoreError("the store was deleted", "put it back", code="store_gone")


def test_a_change_that_was_made_although_the_store_complained_is_not_lost() -> None:
    store = Failing()

    async def story() -> None:
        engine = Engine(InlineAccess(store), lambda: 1.0)
        await engine.create(created("s"))
        store.fails = True
        with pytest.raises(StoreError):
            await engine.record("s", f.PromptQueued(at=1, prompt="one", text="one"))
        store.fails = True
        with pytest.raises(StoreError):
            await engine.record("s", f.Adopted(at=2, generation=1))
        await engine.record("s", f.PromptQueued(at=3, prompt="two", text="two"))

    asyncio.run(story())
    found = store.session("s")
    assert found is not None
    assert [one.id for one in found.prompts] == ["one", "two"]
    assert found == booked(facts_of(store.facts("session", "s")))


def test_everybody_hears_of_a_change_that_was_made_although_the_store_complained() -> None:
    store, heard = Failing(), list[tuple[bool, list[tuple[int, str]]]]()

    async def story() -> None:
        engine = Engine(InlineAccess(store), lambda: 1.0)
        await engine.create(created("s"))
        known = len(store.facts("session", "s"))
        engine.listeners.append(
            lambda session, recorded: heard.append(
                (bool(session.on_hold), [(one.seq - known, type(one.fact).__name__) for one in recorded])
            )
        )
        store.fails = True
        with pytest.raises(StoreError):
            await engine.record("s", f.PromptQueued(at=1, prompt="one", text="one"), f.HoldAsked(at=2, by="a person"))
        assert heard == [], "nobody knows yet whether it was made"
        await engine.settle_doubts()
        await engine.settle_doubts()

    asyncio.run(story())
    assert heard == [(True, [(1, "PromptQueued"), (2, "HoldAsked")])]


def test_what_the_beginning_of_a_questions_id_means_does_not_depend_on_what_is_in_memory() -> None:
    async def story() -> None:
        access = UnhurriedAccess()
        supervisor = Supervisor(
            Engine(access, lambda: 9.0), FakeKeepers(FakeWorld()), FakeWorkplace(), KINDS, FakeRecords()
        )
        engine, options = supervisor.engine, [("a", "Allow", "allow_once")]
        for name in ("over", "open"):
            await engine.create(created(name))
            await engine.record(
                name,
                f.LaunchIntended(at=1, attempt=1, generation=1, how="new"),
                f.Launched(at=2, attempt=1, folder="/k", pid=1),
                f.Opened(at=3, attempt=1, how="new", token="t"),
                f.PermissionAsked(at=4, attempt=1, request="r", title="rm", kind="execute", options=options),
            )
        ended = f.Exited(at=6, attempt=1, how_ended="exit code 0", by_us=True)
        await engine.record("over", f.PermissionAnswered(at=5, request="r", option="a", by="user"))
        await engine.record("over", f.StopAsked(at=6, by="user", to="completed"), ended)
        engine.forget("over")
        assert [one.id for one in engine.at_hand()] == ["open"]
        with pytest.raises(NoSuchQuestion, match="can mean 2 questions"):
            await Questions(supervisor).answer("q", "a", by="user")
        await supervisor.close()

    asyncio.run(story())
