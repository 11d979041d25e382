"""The disk under real daemons and keepers: room comes back after any death, and modes are this user's alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rekindle.keeper.room import reserved
from tests.e2e.daemon import Machine, is_running, until

pytestmark = pytest.mark.timeout(240)


def kill_all(machine: Machine, *names: str, session: str) -> None:
    pids = [machine.daemon() if name == "daemon" else machine.pids(session)[name] for name in names]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(is_running, pids)), f"the end of {names}")


@pytest.mark.parametrize("also", ["daemon", "nobody else"])
def test_room_comes_back_when_guard_and_keeper_die_together(machine: Machine, also: str) -> None:
    session = machine.begin("say hello", "sleep 600")
    machine.until_said(session, "sleep: 600")
    assert reserved(machine.folder(session)) > 10_000_000
    kill_all(machine, "guard", "keeper", *(["daemon"] if also == "daemon" else []), session=session)
    machine.ok("show", session)  # starts a daemon where none is left
    until(lambda: reserved(machine.folder(session)) == 0, "the room to come back")
    assert "hello" in machine.said(session)


def test_gc_gives_back_the_room_of_an_attempt_that_died_with_everything_else(machine: Machine) -> None:
    session = machine.begin("say hello", "sleep 600")
    machine.until_said(session, "sleep: 600")
    agent = machine.pids(session)["agent"]
    kill_all(machine, "guard", "keeper", "daemon", session=session)
    until(lambda: not is_running(agent) and not machine.stamped(), "the end of the agent")
    told = machine.json("gc")
    assert told["freed"] > 10_000_000
    assert reserved(machine.folder(session)) == 0
    assert "hello" in machine.said(session)


def test_with_an_open_umask_everything_is_still_for_this_user_alone(machine: Machine) -> None:
    before = os.umask(0)
    try:
        session = machine.begin("say hello", "write made.txt by the agent")
        machine.until_status(session, "waiting")
        machine.kill(machine.pids(session)["agent"])
        machine.until_status(session, "dead", "asleep", "interrupted")
        machine.ok("resume", session)
        machine.until_status(session, "waiting")
        machine.ok("search", "hello")
        machine.ok("stop", session, "--sleep")
        machine.ok("export", session, "-o", str(machine.home / "moved.tar.gz"))
        machine.ok("import", str(machine.home / "moved.tar.gz"), "--as-new", "--cwd", str(machine.work))
    finally:
        os.umask(before)
    ours = [Path(machine.places.state), Path(machine.places.runtime)]
    found = [path for top in ours for path in (top, *top.rglob("*")) if not path.is_symlink()]
    open_ones = [f"{path} {path.stat().st_mode & 0o777:o}" for path in found if path.stat().st_mode & 0o077]
    assert open_ones == []
    assert (machine.work / "made.txt").stat().st_mode & 0o777 == 0o666, "what the agent makes is its own business"
