"""Snapshots are asked for when a turn or an agent ends, off the loop, and a failure is told once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.snapshots import Snapshot
from rekindle.runtime.engine import Engine
from rekindle.runtime.time_machine import TimeMachine
from tests.fakes.snapshots import FakeSnapshots, Repositories
from tests.fakes.store import InlineAccess

NAME = "a1"


Take = Callable[[Session, str, float], object]


class Watched(FakeSnapshots):
    """Snapshots that are taken as a test says."""

    def __init__(self, take: Take, owed: dict[str, str] | None = None) -> None:
        super().__init__(Repositories(marks=dict(owed or {})))
        self._take = take
        self.thinned: list[str] = []

    def take(self, session: Session, reason: str, now: float) -> Snapshot | None:
        self._take(session, reason, now)
        return None

    def thin(self, session: Session, now: float) -> object:
        self.thinned.append(session.id)
        return super().thin(session, now)

    @property
    def marks(self) -> dict[str, str]:
        return self.owed()


def play(
    take: Take | Watched, story: Callable[[Engine, TimeMachine], Awaitable[None]], *, grace: float = 30.0
) -> Engine:
    ticks = iter(range(1, 100_000))
    engine = Engine(InlineAccess(), lambda: float(next(ticks)))

    async def run() -> None:
        await engine.create(f.Created(at=0, session=NAME, agent="fake", cwd="/work", policy="ask"))
        machine = TimeMachine(engine, take if isinstance(take, Watched) else Watched(take))
        try:
            await machine.begin()
            await story(engine, machine)
        finally:
            await machine.close(grace)

    asyncio.run(run())
    return engine


async def begin(engine: Engine) -> None:
    await engine.record(NAME, f.LaunchIntended(at=1, attempt=1, generation=1, how="new", token=None))
    await engine.record(NAME, f.Launched(at=1, attempt=1, folder="", pid=1))
    await engine.record(NAME, f.Opened(at=1, attempt=1, how="new", token="t"))


async def turn(engine: Engine, prompt: str) -> None:
    await engine.record(NAME, f.PromptQueued(at=2, prompt=prompt, text="do it"))
    await engine.record(NAME, f.PromptSent(at=2, attempt=1, prompt=prompt, message=1, text="do it"))
    await engine.record(NAME, f.TurnFinished(at=3, attempt=1, prompt=prompt, stop_reason="end_turn"))


async def leave(engine: Engine) -> None:
    await engine.record(NAME, f.Exited(at=4, attempt=1, how_ended="killed", by_us=False))


def test_the_end_of_a_turn_and_of_an_agent_are_kept() -> None:
    seen: list[tuple[str, str, str]] = []

    async def story(engine: Engine, machine: TimeMachine) -> None:
        await begin(engine)
        await machine.settle()
        assert seen == []
        await turn(engine, "p1")
        await machine.settle()
        await leave(engine)
        await machine.settle()

    play(lambda session, reason, _now: seen.append((session.cwd, session.id, reason)), story)
    assert seen == [("/work", NAME, "turn 1 has ended"), ("/work", NAME, "attempt 1 has ended")]


def test_the_loop_does_not_wait_and_what_happens_meanwhile_asks_once_more() -> None:
    seen: list[str] = []
    go_on = threading.Event()

    def slow(_session: Session, reason: str, _now: float) -> None:
        assert go_on.wait(30)
        seen.append(reason)

    async def story(engine: Engine, machine: TimeMachine) -> None:
        await begin(engine)
        await turn(engine, "p1")
        await asyncio.sleep(0)
        await turn(engine, "p2")
        await turn(engine, "p3")
        await leave(engine)
        assert seen == []
        go_on.set()
        await machine.settle()

    play(slow, story)
    assert seen == ["turn 1 has ended", "attempt 1 has ended"]


def test_a_failure_is_told_once() -> None:
    def broken(_session: Session, _reason: str, _now: float) -> None:
        raise RekindleError("the disk is full", "make room")

    async def story(engine: Engine, machine: TimeMachine) -> None:
        await begin(engine)
        for prompt in ("p1", "p2"):
            await turn(engine, prompt)
            await machine.settle()

    engine = play(broken, story)
    assert engine.session(NAME).notices == ["no snapshot of the work tree could be taken: the disk is full"]


def test_a_turn_that_runs_for_long_is_kept_now_and_then() -> None:
    async def story(engine: Engine, machine: TimeMachine) -> None:
        await begin(engine)
        looking = asyncio.ensure_future(machine.look_around(0.0))
        for _ in range(5):
            await asyncio.sleep(0)
        assert seen == [], "nothing runs"
        await engine.record(NAME, f.PromptQueued(at=2, prompt="p1", text="do it"))
        await engine.record(NAME, f.PromptSent(at=2, attempt=1, prompt="p1", message=1, text="do it"))
        async with asyncio.timeout(30):
            while len(seen) < 2:
                await asyncio.sleep(0)
        looking.cancel()
        await asyncio.wait([looking])

    seen: list[str] = []
    play(lambda _session, reason, _now: seen.append(reason), story)
    assert set(seen) == {"a turn is running"}


def test_a_stop_does_not_wait_for_a_long_one_and_the_next_start_takes_it() -> None:
    def long(_session: Session, _reason: str, _now: float) -> None:
        assert first.ended.wait(30)
        raise RekindleError("git was ended")

    async def one_turn(engine: Engine, _machine: TimeMachine) -> None:
        await begin(engine)
        await turn(engine, "p1")
        await asyncio.sleep(0)

    first = Watched(long)
    engine = play(first, one_turn, grace=0.0)
    assert engine.session(NAME).notices == [], "nobody has to know"
    assert first.marks == {NAME: "turn 1 has ended"}

    async def nothing(_engine: Engine, machine: TimeMachine) -> None:
        await machine.settle()

    seen: list[str] = []
    second = Watched(lambda _session, reason, _now: seen.append(reason), {**first.marks, "unknown": "x"})
    play(second, nothing)
    assert seen == ["turn 1 has ended"]
    assert second.marks == {"unknown": "x"}


def test_what_was_asked_for_meanwhile_is_still_owed() -> None:
    def ends_just_in_time(_session: Session, reason: str, _now: float) -> None:
        assert snapshots.ended.wait(30)
        if reason != "turn 1 has ended":
            raise RekindleError("git was ended")

    async def story(engine: Engine, _machine: TimeMachine) -> None:
        await begin(engine)
        await turn(engine, "p1")
        await asyncio.sleep(0)
        await leave(engine)

    snapshots = Watched(ends_just_in_time)
    play(snapshots, story, grace=0.0)
    assert snapshots.marks == {NAME: "attempt 1 has ended"}


def test_old_ones_are_let_go_now_and_then() -> None:
    async def story(_engine: Engine, machine: TimeMachine) -> None:
        thinning = asyncio.ensure_future(machine.let_go(0.0, first=0.0))
        async with asyncio.timeout(30):
            while len(snapshots.thinned) < 2:
                await asyncio.sleep(0)
        thinning.cancel()
        await asyncio.wait([thinning])

    snapshots = Watched(lambda _session, _reason, _now: None)
    play(snapshots, story)
    assert set(snapshots.thinned) == {NAME}
