"""Snapshots are asked for when a turn or an agent ends, off the loop, and a failure is told once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

from rekindle.core.session import facts as f
from rekindle.ports.errors import RekindleError
from rekindle.runtime.engine import Engine
from rekindle.runtime.time_machine import Take, TimeMachine
from tests.fakes.store import FakeStore

NAME = "a1"


def play(take: Take, story: Callable[[Engine, TimeMachine], Awaitable[None]]) -> Engine:
    ticks = iter(range(1, 100_000))
    engine = Engine(FakeStore(), lambda: float(next(ticks)))
    engine.create(f.Created(at=0, session=NAME, agent="fake", cwd="/work", policy="ask"))

    async def run() -> None:
        machine = TimeMachine(engine, take)
        try:
            await story(engine, machine)
        finally:
            await machine.close()

    asyncio.run(run())
    return engine


def begin(engine: Engine) -> None:
    engine.record(NAME, f.LaunchIntended(at=1, attempt=1, generation=1, how="new", token=None))
    engine.record(NAME, f.Launched(at=1, attempt=1, folder="", pid=1))
    engine.record(NAME, f.Opened(at=1, attempt=1, how="new", token="t"))


def turn(engine: Engine, prompt: str) -> None:
    engine.record(NAME, f.PromptQueued(at=2, prompt=prompt, text="do it"))
    engine.record(NAME, f.PromptSent(at=2, attempt=1, prompt=prompt, message=1, text="do it"))
    engine.record(NAME, f.TurnFinished(at=3, attempt=1, prompt=prompt, stop_reason="end_turn"))


def leave(engine: Engine) -> None:
    engine.record(NAME, f.Exited(at=4, attempt=1, how_ended="killed", by_us=False))


def test_the_end_of_a_turn_and_of_an_agent_are_kept() -> None:
    seen: list[tuple[str, str, str]] = []

    async def story(engine: Engine, machine: TimeMachine) -> None:
        begin(engine)
        await machine.settle()
        assert seen == []
        turn(engine, "p1")
        await machine.settle()
        leave(engine)
        await machine.settle()

    play(lambda cwd, session, reason, _now: seen.append((cwd, session, reason)), story)
    assert seen == [("/work", NAME, "turn 1 has ended"), ("/work", NAME, "attempt 1 has ended")]


def test_the_loop_does_not_wait_and_what_happens_meanwhile_asks_once_more() -> None:
    seen: list[str] = []
    go_on = threading.Event()

    def slow(_cwd: str, _session: str, reason: str, _now: float) -> None:
        assert go_on.wait(30)
        seen.append(reason)

    async def story(engine: Engine, machine: TimeMachine) -> None:
        begin(engine)
        turn(engine, "p1")
        await asyncio.sleep(0)
        turn(engine, "p2")
        turn(engine, "p3")
        leave(engine)
        assert seen == []
        go_on.set()
        await machine.settle()

    play(slow, story)
    assert seen == ["turn 1 has ended", "attempt 1 has ended"]


def test_a_failure_is_told_once() -> None:
    def broken(_cwd: str, _session: str, _reason: str, _now: float) -> None:
        raise RekindleError("the disk is full", "make room")

    async def story(engine: Engine, machine: TimeMachine) -> None:
        begin(engine)
        for prompt in ("p1", "p2"):
            turn(engine, prompt)
            await machine.settle()

    engine = play(broken, story)
    assert engine.session(NAME).notices == ["no snapshot of the work tree could be taken: the disk is full"]


def test_a_turn_that_runs_for_long_is_kept_now_and_then() -> None:
    async def story(engine: Engine, machine: TimeMachine) -> None:
        begin(engine)
        looking = asyncio.ensure_future(machine.look_around(0.0))
        for _ in range(5):
            await asyncio.sleep(0)
        assert seen == [], "nothing runs"
        engine.record(NAME, f.PromptQueued(at=2, prompt="p1", text="do it"))
        engine.record(NAME, f.PromptSent(at=2, attempt=1, prompt="p1", message=1, text="do it"))
        async with asyncio.timeout(30):
            while len(seen) < 2:
                await asyncio.sleep(0)
        looking.cancel()
        await asyncio.wait([looking])

    seen: list[str] = []
    play(lambda _cwd, _session, reason, _now: seen.append(reason), story)
    assert set(seen) == {"a turn is running"}
