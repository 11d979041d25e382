"""The promises of looking at a machine. Nobody has a fake of it, so this machine alone is held to them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from rekindle.adapters.machine.checks import ThisMachine
from rekindle.ports.machine import Machine


def machine(socket: str = "/nowhere/tmux.sock") -> Machine:
    return ThisMachine(socket, lambda _folder, *words: "git version 2" if words == ("--version",) else None)


def test_programs_are_looked_for_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").write_text("#!/bin/sh\n")
    (tmp_path / "there").chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (machine().has_program("there"), machine().has_program("sh")) == (True, False)
    assert machine().git_version() == "git version 2"


def test_locks_hold_in_a_folder_that_can_be_written_and_a_look_leaves_nothing(tmp_path: Path) -> None:
    assert machine().lock_problem(str(tmp_path)) is None
    assert list(tmp_path.iterdir()) == []
    problem = machine().lock_problem(str(tmp_path / "gone"))
    assert problem is not None
    assert all(problem), "it says what to do"


def test_room_is_told_also_for_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    room = machine().free_bytes(str(tmp_path / "not" / "yet"))
    assert room is not None and room > 0


def test_who_commits_is_what_git_is_set_to_or_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GIT_AUTHOR_EMAIL", raising=False)
    assert machine().git_identity("/") is None
    assert ThisMachine("", lambda *_words: "me@example.com").git_identity("/") == "me@example.com"
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "other@example.com")
    assert machine().git_identity("/") == "other@example.com"


def test_where_there_is_no_server_there_are_no_terminals() -> None:
    assert machine().terminals() == {}


@pytest.mark.skipif(shutil.which("tmux") is None, reason="NOT TESTED: terminals need tmux")
def test_only_terminals_of_ours_are_told_with_what_ends_them() -> None:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        socket = os.path.join(folder, "tmux")
        tmux = ["tmux", "-f", os.devnull, "-S", socket]
        for name in ("rekindle-one", "theirs"):
            subprocess.run([*tmux, "new-session", "-d", "-s", name, "sleep", "1000"], check=True)
        try:
            [(session, command)] = machine(socket).terminals().items()
            assert session == "one"
            subprocess.run(command.split(), check=True)
            assert machine(socket).terminals() == {}
        finally:
            subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)
