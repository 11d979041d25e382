"""What `rekindle doctor` says of the agents, of who commits and of the disk. It asks nobody and shows no secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine

SECRET = "sk-this-is-nobodys-business"


@pytest.fixture
def stocked(machine: Machine, tmp_path: Path) -> Machine:
    """Codex with a key, Gemini without one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, version in {"codex-acp": "1.2.3", "gemini": "0.61.0"}.items():
        (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
        (folder / name).chmod(0o755)
    return replace(machine, variables={"PATH": str(folder), "OPENAI_API_KEY": SECRET, "GEMINI_API_KEY": ""})


def test_agents_are_named_with_version_and_the_sign_of_an_account(stocked: Machine) -> None:
    told = stocked.ok("doctor")
    assert "ok    Codex 1.2.3, with an account or key (OPENAI_API_KEY)" in told
    assert "note  Gemini CLI 0.61.0, no account or key found" in told
    assert "rekindle agent check gemini" in told
    assert SECRET not in told


def test_without_agents_the_remedy_is_named(machine: Machine) -> None:
    assert "only the built-in practice agent is installed" in machine.ok("doctor")


def test_who_commits_and_how_much_room_there_is(machine: Machine) -> None:
    nobody = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    assert "git config --global user.email" in machine.ok("doctor", **nobody)
    named = machine.ok("doctor", **nobody, GIT_AUTHOR_EMAIL="me@example.com")
    assert "commits are made as me@example.com" in named
    assert "GiB free for" in named
