"""When an agent is given up: its turn takes too long, or it says nothing."""

from __future__ import annotations

import asyncio

import pytest

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.core.session import facts as f
from rekindle.core.session.machine import evolve
from rekindle.core.session.state import Session
from rekindle.runtime.engine import Engine
from rekindle.runtime.supervisor import Supervisor
from rekindle.runtime.watchdog import watch, why_given_up
from tests.fakes.keepers import FakeKeepers, FakeWorld
from tests.fakes.records import FakeRecords
from tests.fakes.store import FakeStore
from tests.fakes.workplace import FakeWorkplace
from tests.sessions import folded


def at_work(**limits: float) -> Session:
    return folded(
        [
            f.Created(at=1, session="s1", agent="claude", cwd="/w", limits=f.Limits(**limits)),  # type: ignore[arg-type]
            f.PromptQueued(at=2, prompt="p1", text="one"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="t"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="t"),
            f.PromptSent(at=100, attempt=1, prompt="p1", message=2, text="one"),
        ]
    )


@pytest.mark.parametrize(
    ("now", "silent", "reason"),
    [(130.0, 0.0, None), (131.0, 0.0, "longer than 30 s"), (101.0, 9.0, None), (101.0, 11.0, "said nothing for 10 s")],
)
def test_a_turn_is_given_up_when_its_time_is_over_or_it_is_silent(
    now: float, silent: float, reason: str | None
) -> None:
    found = why_given_up(at_work(turn_seconds=30.0, stall_seconds=10.0), now, silent)
    assert reason in found if reason is not None and found is not None else found is reason


def test_a_question_waits_for_a_person_for_ever() -> None:
    asked = f.PermissionAsked(at=101, attempt=1, request="r", title="rm", kind="execute", options=[])
    assert why_given_up(evolve(at_work(turn_seconds=1.0), asked), 10_000.0, 10_000.0) is None


def test_an_agent_without_a_turn_may_be_silent() -> None:
    done = f.TurnFinished(at=101, attempt=1, prompt="p1", stop_reason="end_turn")
    assert why_given_up(evolve(at_work(turn_seconds=1.0, stall_seconds=1.0), done), 10_000.0, 10_000.0) is None


def test_a_machine_that_slept_blames_no_agent_for_the_silence() -> None:
    world, now = FakeWorld(), [0.0]
    engine = Engine(FakeStore(), lambda: now[0])
    kinds = {"fake": AgentKind("fake", "Fake", lambda _start: ("fake",), AcpDialect)}

    async def pass_by(seconds: float) -> None:
        now[0] += seconds
        for _ in range(20):
            await asyncio.sleep(0)

    async def story() -> None:
        supervisor = Supervisor(engine, FakeKeepers(world), FakeWorkplace(), kinds, FakeRecords(), settle_seconds=0.0)
        engine.create(f.Created(at=0, session="s", agent="fake", cwd="/", limits=f.Limits(stall_seconds=60.0)))
        await supervisor.record("s", f.PromptQueued(at=0, prompt="p", text="hello"))
        while engine.session("s").prompts[0].state == "queued":
            world.settle()
            await asyncio.sleep(0)
        watching = asyncio.ensure_future(watch(supervisor, 0.0))
        for passed in (0.0, 8 * 3600.0, *[5.0] * 9):
            await pass_by(passed)
        assert engine.session("s").attempts[-1].given_up == ""
        for passed in [5.0] * 6:
            await pass_by(passed)
        assert "said nothing for 60 s" in engine.session("s").attempts[-1].given_up
        watching.cancel()
        await supervisor.close()

    asyncio.run(story())
