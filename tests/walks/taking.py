"""Takes the walks: real commands, a real daemon and scripted agents, all of them with the tracer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.e2e.daemon import Machine
from tests.e2e.features import FEATURE, Shop, task
from tests.walks.milestones import Walk
from tests.walks.tracing.sitecustomize import TRACE

TRACER = Path(__file__).parent / "tracing"
#: Begins the trace: what was called before is not part of the walk.
Begin = Callable[[], None]


def taken(walk: Walk) -> list[str]:
    """What a walk passes, in order. Nothing is left running."""
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        trace, whole = Path(folder, "trace"), Path(folder, "whole")
        variables = {"PYTHONPATH": str(TRACER), TRACE: str(trace)}
        machine = Machine(Path(folder, "home"), Path(folder, "work"), variables=variables)
        machine.home.mkdir()
        machine.work.mkdir()
        try:
            _WAYS[walk.name](machine, trace.touch)
            trace.rename(whole)  # how everything is ended is not part of the walk
        finally:
            machine.clean_up()
        return whole.read_text().splitlines()


def _track(machine: Machine, begin: Begin) -> None:
    Shop(machine).make()
    machine.ok("track", "session.start", "--feature", FEATURE)
    begin()
    machine.ok("track", "task.started", "a task", "--task", "1", "--feature", FEATURE)
    assert "1" in machine.ok("analyze", FEATURE)


def _answer(machine: Machine, begin: Begin) -> None:
    begin()
    assert "hello" in machine.ok("run", "say hello")


def _kill(machine: Machine, begin: Begin) -> None:
    session = machine.begin("say hello", "sleep 600")
    machine.until_said(session, "sleep: 600")
    agent = machine.pids(session)["agent"]
    begin()
    machine.kill(agent)
    machine.until_status(session, "interrupted")
    assert "the same conversation" in machine.ok("resume", session)


def _plan(machine: Machine, begin: Begin) -> None:
    shop = Shop(machine).make()
    plan = shop.plan(task("a", checks=["test -s a.txt"]))
    begin()
    machine.ok("run", "--plan", plan)
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a"]


_WAYS: dict[str, Callable[[Machine, Begin], None]] = {
    "track": _track,
    "answer": _answer,
    "kill": _kill,
    "plan": _plan,
}
