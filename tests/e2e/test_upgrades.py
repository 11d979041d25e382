"""An upgrade under live agents: their keepers are of the version before, whose files are gone by then."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import rekindle
from rekindle.adapters.daemon_socket.client import is_served
from rekindle.keeper import launch
from tests.e2e.daemon import Machine, is_running, until

pytestmark = pytest.mark.timeout(240)
_GATE = "open('gate').read()"


def installed(machine: Machine, name: str, *, protocols: tuple[int, int] = (1, 1)) -> Machine:
    """The machine with another installation of rekindle: another place, another version, other protocols of keepers."""
    place = machine.home.parent / name
    shutil.copytree(Path(rekindle.__file__).parent, place / "rekindle", ignore=shutil.ignore_patterns("__pycache__"))
    _edit(place / "rekindle" / "__init__.py", f'"{rekindle.__version__}"', f'"{name}"')
    frames = place / "rekindle" / "keeper" / "frames.py"
    _edit(frames, "PROTO_MIN = 1", f"PROTO_MIN = {protocols[0]}")
    _edit(frames, "PROTO_MAX = 1", f"PROTO_MAX = {protocols[1]}")
    return replace(machine, command=(sys.executable, "-m", "rekindle.entry"), variables={"PYTHONPATH": str(place)})


def _edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{file} has {old!r} once"
    file.write_text(text.replace(old, new))


def begun(machine: Machine) -> str:
    """A session that works until somebody opens the gate."""
    os.mkfifo(machine.work / "gate")
    (machine.work / "wait.py").write_text(_GATE)
    session = machine.begin("say the beginning", "run python3 wait.py", "say the end")
    machine.until_said(session, "run: python3 wait.py")
    return session


def stopped(machine: Machine) -> None:
    """The daemon goes, and its version with it."""
    machine.ok("serve", "--stop")
    until(lambda: not is_served(machine.places), "the end of the daemon")
    shutil.rmtree(machine.variables["PYTHONPATH"])


def test_a_turn_that_began_before_an_upgrade_is_finished_after_it_by_the_same_agent(machine: Machine) -> None:
    old, new = installed(machine, "0.1"), installed(machine, "0.2", protocols=(1, 2))
    session = begun(old)
    before = old.pids(session)
    stopped(old)
    assert new.ok("--version").strip().endswith("0.2")
    new.ok("send", session, "say what came after the upgrade")
    assert f"PYTHONPATH={new.variables['PYTHONPATH']}" in Path(f"/proc/{new.daemon()}/environ").read_text().split("\0")
    assert new.status(session) == "working"
    (machine.work / "gate").write_text("")
    new.until_said(session, "the end")
    new.until_status(session, "waiting")
    said = new.said(session)
    assert said.index("\nthe end\n") < said.index("\nwhat came after the upgrade\n")
    assert new.pids(session) == before
    assert new.show(session)["attempt"] == 1
    new.ok("stop", session, "--sleep")
    assert new.status(session) == "asleep"
    new.ok("send", session, "say a new agent", "--follow")
    assert new.show(session)["receipt"]["kind"] == "same"


@pytest.mark.parametrize("victim", ["agent", "keeper"])
def test_an_agent_that_dies_after_an_upgrade_is_cleared_away_by_the_old_keeper(machine: Machine, victim: str) -> None:
    """Guard and keeper need no file of their package any more."""
    old, new = installed(machine, "0.1"), installed(machine, "0.2", protocols=(1, 2))
    session = begun(old)
    pids = old.pids(session)
    stopped(old)
    new.show(session)
    new.kill(pids[victim])
    new.until_status(session, "interrupted")
    assert not any(is_running(pid) for pid in pids.values())
    assert launch.read_exit(new.folder(session)) is not None
    assert Path(new.folder(session), "log").read_text() == ""
    (machine.work / "wait.py").write_text("")
    assert "the same conversation" in new.ok("resume", session)
    new.until_said(session, "the end")


def test_a_keeper_that_an_upgrade_cannot_talk_to_is_left_alone_and_it_is_said(machine: Machine) -> None:
    old, new = installed(machine, "0.1"), installed(machine, "0.9", protocols=(2, 2))
    session = begun(old)
    before = old.pids(session)
    old.ok("serve", "--stop")
    until(lambda: not is_served(machine.places), "the end of the daemon")
    told = new.run("send", session, "say later")
    assert told.returncode == 1
    assert "speaks protocol 1 to 1, the client 2 to 2" in told.stderr
    assert "stop it with the rekindle that began it" in told.stderr
    assert "its keeper refused us" in new.show(session)["notices"][-1]
    assert new.run("resume", session).returncode == 4, "there is no second agent"
    assert all(is_running(pid) for pid in before.values())
    new.ok("serve", "--stop")
    until(lambda: not is_served(machine.places), "the end of the daemon")
    old.show(session)
    (machine.work / "gate").write_text("")
    old.until_said(session, "the end")
    assert old.pids(session) == before
