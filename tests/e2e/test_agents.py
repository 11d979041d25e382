"""`rekindle agent` and handing over, through the commands, with the agent that is always there."""

from __future__ import annotations

import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        yield made
        made.clean_up()


def test_what_is_built_in_is_there_and_what_is_not_installed_says_how_to(machine: Machine) -> None:
    rows = {row["name"]: row for row in machine.json("agent", "list")["agents"]}
    assert rows["scripted"]["installed"]
    assert rows["auggie"]["installed"] is False
    assert "npm install" in rows["auggie"]["missing"]
    assert "not installed" in machine.ok("agent", "list")


def test_a_check_says_what_an_agent_can_do_or_why_it_cannot(machine: Machine) -> None:
    assert "it can    load, resume, list" in machine.ok("agent", "check", "scripted")
    done = machine.run("agent", "check", "auggie")
    assert done.returncode == 1
    assert "not installed" in done.stdout


def test_a_session_is_handed_over_with_its_history_and_keeps_its_id(machine: Machine) -> None:
    program = machine.home / "bin" / "qwen"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m rekindle.scripted\n")
    program.chmod(stat.S_IRWXU)
    path = f"{program.parent}:{machine.environment()['PATH']}"
    session = machine.begin("Build it.", "say I have begun.")
    machine.until_status(session, "waiting")
    machine.ok("stop", session, "--sleep")
    refused = machine.run("resume", session, "--agent", "nobody")
    assert refused.returncode == 2
    assert "handed over to qwen" in machine.ok("resume", session, "--agent", "qwen", PATH=path)
    machine.ok("send", session, "What do you know?", "--follow")
    told = machine.show(session)
    assert (told["agent"], told["receipt"]["kind"]) == ("qwen", "rebuilt")
    sent = [prompt["text"] for prompt in told["session"]["prompts"]][-1]
    assert "[USER]: Build it." in sent
    assert "[ASSISTANT]: I have begun." in sent
    machine.ok("stop", session, "--sleep")
    machine.ok("send", session, "And now?", "--follow")
    assert machine.show(session)["receipt"]["kind"] == "same", "the new agent's conversation is then resumed as ever"
