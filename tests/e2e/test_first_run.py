"""The first `rekindle run`: in a terminal it offers the agents that are installed; elsewhere nothing is asked."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine
from tests.e2e.typist import Typist

PRACTICE = "the built-in practice agent does this"


@pytest.fixture
def with_codex(machine: Machine, tmp_path: Path) -> Machine:
    """Codex is installed: the scripted agent under its name, for both speak ACP."""
    program = tmp_path / "bin" / "codex-acp"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m rekindle.scripted\n")
    program.chmod(0o755)
    return replace(machine, variables={**machine.variables, "PATH": str(program.parent)})


def test_without_a_terminal_nothing_is_asked_and_the_practice_agent_says_what_it_is(with_codex: Machine) -> None:
    done = with_codex.run("run", "say hello")
    assert done.returncode == 0
    assert PRACTICE in done.stderr
    assert "rekindle config set agent codex" in done.stderr
    assert PRACTICE not in done.stdout
    begun = with_codex.run("run", "-d", "say hello")
    assert (len(begun.stdout.split()), PRACTICE in begun.stderr) == (1, True)


@pytest.mark.parametrize("how", ["option", "setting"])
def test_who_has_chosen_the_practice_agent_is_not_told(machine: Machine, how: str) -> None:
    options = ["--agent", "scripted"] if how == "option" else []
    if how == "setting":
        machine.ok("config", "set", "agent", "scripted")
    assert PRACTICE not in machine.run("run", *options, "say hello").stderr


def test_in_a_terminal_without_any_agent_nothing_is_asked(machine: Machine) -> None:
    with Typist(machine, "run", "-d", "say hello") as person:
        assert person.leave() == 0
        person.until_shown("rekindle agent list")


def test_in_a_terminal_the_installed_agents_are_offered_and_the_choice_is_remembered(with_codex: Machine) -> None:
    with Typist(with_codex, "run", "-d", "say hello") as person:
        person.until_shown("1  codex")
        person.until_shown("2  scripted")
        person.type("2")
        person.until_shown("Always use scripted")
        person.type("n")
        assert person.leave() == 0
    assert with_codex.json("config", "get", "agent")["source"] == "built in"
    with Typist(with_codex, "run", "-d", "say hello") as person:
        person.until_shown("Which one should do this")
        person.type("1")
        person.type("y")
        assert person.leave() == 0
    assert with_codex.json("config", "get", "agent")["value"] == "codex"
    assert {row["agent"] for row in with_codex.json("ps", "--all")["sessions"]} == {"scripted", "codex"}
    with Typist(with_codex, "run", "-d", "say hello") as person:
        assert person.leave() == 0
        assert "Which one" not in person.screen
