"""The promises of agents' programs. Nobody has a fake of them, so small programs on this machine play them."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rekindle.adapters.machine import agent_programs
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.registry import AGENTS
from rekindle.ports.agent_programs import AgentPrograms

PORT: AgentPrograms = agent_programs


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    return {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "REKINDLE_SCRIPTED_HOME": str(tmp_path / "scripted"),
    }


def program(env: dict[str, str], body: str, kind: AgentKind = AGENTS["gemini"]) -> str:
    path = Path(env["PATH"].partition(":")[0], kind.program)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return str(path)


def test_a_program_is_found_on_the_path_of_that_environment(env: dict[str, str]) -> None:
    kind = replace(AGENTS["gemini"], program="an-agent-of-nobodys")
    assert PORT.path_of(kind, env) is None
    path = program(env, "exit 0", kind)
    assert PORT.path_of(kind, env) == path
    assert PORT.path_of(kind, {"PATH": "/nowhere"}) is None
    assert PORT.path_of(AGENTS["scripted"], env) is None, "it is built in"


@pytest.mark.parametrize(("body", "version"), [("echo tool 1.22.3", "1.22.3"), ("echo hello", ""), ("exit 3", "")])
def test_the_version_is_what_the_program_tells(env: dict[str, str], body: str, version: str) -> None:
    path = program(env, body)
    assert PORT.version_of(AGENTS["gemini"], path, env) == version


def test_a_program_that_cannot_be_executed_tells_no_version(env: dict[str, str]) -> None:
    path = program(env, "echo 1.0.0")
    Path(path).write_bytes(b"\x7fELF no program")
    assert PORT.version_of(AGENTS["gemini"], path, env) == ""


def test_a_dry_start_tells_whether_the_agent_comes_up_and_what_it_can(env: dict[str, str]) -> None:
    found = PORT.check(AGENTS["scripted"], env)
    assert (found.state, found.problem) == ("ready", "")
    assert found.can_load


def test_a_dry_start_that_fails_says_why(env: dict[str, str]) -> None:
    program(env, "echo the moon is wrong >&2; exit 3")
    found = PORT.check(AGENTS["gemini"], env)
    assert found.state != "ready"
    assert "the moon is wrong" in found.problem
    missing = PORT.check(AGENTS["gemini"], {**env, "PATH": os.path.dirname(sys.executable)})
    assert missing.state != "ready"
    assert missing.problem


def test_the_sign_of_an_account_is_named_and_never_shown(env: dict[str, str], tmp_path: Path) -> None:
    kind = AGENTS["codex"]
    assert PORT.account_of(kind, env) == ""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "auth.json").write_text("secret")
    (tmp_path / ".codex" / "auth.json").chmod(0)
    assert PORT.account_of(kind, env) == "~/.codex/auth.json"
    assert PORT.account_of(kind, {**env, "OPENAI_API_KEY": "sk-secret"}) == "OPENAI_API_KEY"
    assert PORT.account_of(kind, {"HOME": "/nowhere", "OPENAI_API_KEY": ""}) == ""
