"""A store that fails for a while: what was recorded all the same, and what was left undone, is seen to afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import Reactions
from rekindle.core.session import facts as f
from rekindle.core.session.listing import listing
from rekindle.core.session.plan import plan
from rekindle.core.session.rules import BUILT_IN, governed
from rekindle.core.session.state import OURS, Session
from rekindle.ports.feature import CommandDone
from rekindle.ports.store import Recorded, StoreChange, StoreError
from rekindle.runtime.clock import keep_time
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import InlineAccess
from tests.fakes.workplace import FakeWorkplace
from tests.sessions import told
from tests.unit.test_clock import at_work
from tests.unit.test_starts import KINDS, created, in_no_time, pass_time, prompt


class Unsure(InlineAccess):
    """Says that a commit failed. `makes`: it was made all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = self.makes = False

    async def commit(self, change: StoreChange) -> list[Recorded]:
        if not self.fails:
            return await super().commit(change)
        if self.makes:
            await super().commit(change)
        raise StoreError("the disk does not answer")


def supervisor_of(access: Unsure, world: FakeWorld) -> Supervisor:
    engine = Engine(access, asyncio.get_running_loop().time)
    return Supervisor(engine, FakeKeepers(world), FakeWorkplace(), KINDS, FakeRecords(), settle_seconds=0.0)


def test_a_prompt_that_was_stored_although_its_commit_failed_is_delivered_without_anybody_asking_again() -> None:
    world, access = FakeWorld(), Unsure()

    async def story() -> None:
        supervisor = supervisor_of(access, world)
        clock = asyncio.ensure_future(keep_time(supervisor))
        await supervisor.engine.create(created())
        await supervisor.record("s", prompt("first"))
        await pass_time(world, 5)
        access.fails = access.makes = True
        try:
            await supervisor.record("s", prompt("second"))
        except StoreError:
            access.fails = False
        await pass_time(world, 5)
        assert [one.state for one in supervisor.engine.session("s").prompts] == ["done", "done"]
        clock.cancel()
        await supervisor.close()

    with asyncio.Runner(loop_factory=lambda: in_no_time(asyncio.new_event_loop())) as runner:
        runner.run(story())


def test_a_hold_that_was_stored_although_its_commit_failed_holds_before_anybody_looks() -> None:
    world, access = FakeWorld(), Unsure()

    async def story() -> None:
        supervisor = supervisor_of(access, world)
        await supervisor.engine.create(created())
        await supervisor.record("s", prompt("first"))
        await pass_time(world, 5)
        now = supervisor.engine.clock()
        await supervisor.record("s", f.PromptQueued(at=now, prompt="later", text="go on", by=OURS, after=now + 5))
        access.fails = access.makes = True
        with pytest.raises(StoreError):
            await supervisor.record("s", f.HoldAsked(at=now, by="me"))
        access.fails = False
        await pass_time(world, 10)
        assert [one.state for one in supervisor.engine.session("s").prompts] == ["done", "queued"]
        await supervisor.close()

    with asyncio.Runner(loop_factory=lambda: in_no_time(asyncio.new_event_loop())) as runner:
        runner.run(story())


def test_a_session_that_could_not_be_taken_up_is_taken_up_when_the_disk_is_well() -> None:
    world, access = FakeWorld(), Unsure()

    async def story() -> None:
        before = supervisor_of(access, world)
        await before.engine.create(created())
        await before.record("s", prompt())
        await before.close()
        access.fails = True
        after = supervisor_of(access, world)
        await after.start()
        assert not after.is_followed("s")
        access.fails = False
        await pass_time(world, 10)
        assert after.is_followed("s")
        assert after.engine.session("s").prompts[0].state == "done"
        await after.close()

    with asyncio.Runner(loop_factory=lambda: in_no_time(asyncio.new_event_loop())) as runner:
        runner.run(story())


def cut(session: Session, *, worked: bool = False) -> Session:
    exited = f.Exited(at=200, attempt=1, how_ended="killed", by_us=False, cut=f.Cut(worked=worked))
    launched = f.LaunchIntended(at=201, attempt=2, generation=2, how="new", history="what was said: \0prompt\0")
    opened = f.Opened(at=203, attempt=2, how="new", token="t2")
    for fact in (exited, launched, f.Launched(at=202, attempt=2, folder="/k/2", pid=2), opened):
        session = told(session, fact)
    return session


def test_a_prompt_is_not_sent_again_where_a_tool_had_run_for_it() -> None:
    again, goes_on = cut(at_work()), cut(at_work(), worked=True)
    assert [one.state for one in again.prompts] == ["queued"]
    assert [(one.state, one.by) for one in goes_on.prompts] == [("failed", "user"), ("queued", "rekindle")]


def test_a_conversation_that_a_live_agent_has_lost_is_left_and_the_next_prompt_begins_a_new_one() -> None:
    lost = f.TurnFailed(at=101, attempt=1, prompt="p1", error="session_lost", message="session not found")
    session = told(at_work(), lost)
    assert (session.token, session.lost) == (None, ["t"])
    assert "begins a new one" in session.message
    assert [type(effect).__name__ for effect in plan(session, 102)] == ["End"]


def test_a_gate_whose_verdict_could_not_be_recorded_decides_when_the_disk_is_well_and_ran_once() -> None:
    world, access = FakeWorld(), Unsure()

    class SlowPlace(FakeWorkplace):
        async def run_gate(self, session: Session, words: Sequence[str]) -> CommandDone:
            done = await super().run_gate(session, words)
            access.fails = True
            return done

    async def story() -> None:
        engine, place = Engine(access, asyncio.get_running_loop().time), SlowPlace()
        supervisor = Supervisor(engine, FakeKeepers(world), place, KINDS, FakeRecords(), settle_seconds=0.0)
        clock = asyncio.ensure_future(keep_time(supervisor))
        rules = governed(BUILT_IN, Reactions(idle=(Reaction("gate", run=("true",)),)))
        await engine.create(replace(created(), rules=rules))
        await supervisor.record("s", prompt("first"))
        for _ in range(60):
            await pass_time(world, 1)
            if access.fails:
                break
        assert (access.fails, engine.session("s").gate is not None) == (True, True)
        shown = listing(engine.session("s"), engine.clock(), alive=True)
        assert shown.why == "a command decides about its task: true"
        await pass_time(world, 5)
        access.fails = False
        await pass_time(world, 10)
        ended = await engine.load("s")
        assert (str(ended.state), len(place.gates)) == ("COMPLETED", 1)
        clock.cancel()
        await supervisor.close()

    with asyncio.Runner(loop_factory=lambda: in_no_time(asyncio.new_event_loop())) as runner:
        runner.run(story())
