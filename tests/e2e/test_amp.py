"""Amp as it is documented, played by a program that stands in for it: the real one needs an account."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(400)
STAND_IN = Path(__file__).parents[1] / "amp_stand_in.py"


@pytest.fixture
def amp(machine: Machine, tmp_path: Path) -> Machine:
    program = tmp_path / "bin" / "amp"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
    program.chmod(0o755)
    return replace(machine, agent="amp", variables={**machine.variables, "PATH": str(program.parent)})


def starts(amp: Machine) -> list[list[str]]:
    return [json.loads(line) for line in (amp.home / "started").read_text().splitlines()]


def kill_agent(amp: Machine, session: str) -> None:
    amp.kill(amp.pids(session)["agent"])
    amp.until_status(session, "interrupted")


def test_a_thread_that_was_killed_in_mid_turn_is_continued_by_its_name_and_called_unproven(amp: Machine) -> None:
    session = amp.begin("the first thing")
    amp.until_status(session, "waiting")
    assert "I have seen: ['the first thing']" in amp.said(session)
    token = amp.show(session)["session"]["token"]
    assert token.startswith("T-")
    amp.ok("send", session, "hang on")
    amp.until_said(session, "I begin.")
    kill_agent(amp, session)
    amp.ok("resume", session)
    amp.until_status(session, "waiting")
    assert [words[:3] for words in starts(amp)][1] == ["threads", "continue", token]
    assert "the first thing" in amp.said(session).rpartition("I have seen:")[2]
    told = amp.show(session)
    assert told["session"]["token"] == token and told["receipt"]["kind"] == "unproven"


def test_a_turn_that_fails_is_told_and_one_killed_before_its_first_turn_begins_anew(amp: Machine) -> None:
    session = amp.begin("fail please")
    until(lambda: "it broke" in json.dumps(amp.show(session)), "the failure")
    other = amp.begin("hang at once")
    until(lambda: len(starts(amp)) == 2, "its start")
    until(lambda: "hang at once" in json.dumps([one.read_text() for one in (amp.home / "threads").iterdir()]), "prompt")
    kill_agent(amp, other)
    assert amp.show(other)["session"]["token"].startswith("T-")


def test_the_list_says_that_it_is_untested_and_a_check_starts_it(amp: Machine) -> None:
    listed = amp.ok("agent", "list")
    assert any(line.startswith("amp ") and "untested: needs an account" in line for line in listed.splitlines())
    assert any(line.startswith("auggie ") and "untested: needs an account" in line for line in listed.splitlines())
