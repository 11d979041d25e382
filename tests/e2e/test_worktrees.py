"""A worktree per session through the command line: real daemon, real scripted agent, real SIGKILL, deleted folders."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine, until
from tests.e2e.test_snapshots import git, of_the_user, snapshots

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home").resolve(), Path(folder, "work").resolve())
        made.home.mkdir()
        made.work.mkdir()
        git(made, "init", "-q", "-b", "main")
        (made.work / "tracked.txt").write_text("one\n")
        (made.work / ".gitignore").write_text("*.log\n")
        git(made, "add", "-A")
        git(made, "commit", "-q", "-m", "begin")
        (made.work / "tracked.txt").write_text("edited by the user\n")
        (made.work / "mine.txt").write_text("untracked")
        yield made
        made.clean_up()
        assert made.stamped() == []


def killed(machine: Machine, name: str) -> tuple[str, Path]:
    """A session in a worktree whose agent was killed in its turn, and whose tree was kept."""
    session = machine.begin("write new.txt precious", "stream 4000 0.05 word", options=(f"--worktree={name}",))
    machine.until_said(session, "word2")
    top = machine.work / ".worktrees" / name
    assert (top / "new.txt").read_text() == "precious"
    raw = os.fsencode(top)
    for odd in (b"with space", b"new\nline", b"caf\xe9"):
        with open(os.path.join(raw, odd), "wb") as file:
            file.write(odd)
    (top / "tool").write_text("#!/bin/sh\n")
    (top / "tool").chmod(0o755)
    (top / "link").symlink_to("tool")
    (top / "noise.log").write_text("ignored")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    until(lambda: any("has ended" in one["reason"] for one in snapshots(machine, session)), "the last snapshot")
    return session, top


def test_a_deleted_worktree_is_back_when_its_session_is(machine: Machine) -> None:
    before, status = of_the_user(machine), git(machine, "status", "--porcelain=v2", "-z", "--branch")
    session, top = killed(machine, "fix")
    shown = machine.show(session)
    assert (shown["cwd"], shown["branch"]) == (str(top), "rekindle/fix")
    assert shown["notices"] == [f"changes in {machine.work} that are not committed are not in the worktree"]
    shutil.rmtree(top)
    told = machine.run("restore", session)
    assert (told.returncode, "is gone" in told.stderr) == (2, True)
    machine.ok("resume", session)
    raw = os.fsencode(top)
    for odd in (b"with space", b"new\nline", b"caf\xe9"):
        with open(os.path.join(raw, odd), "rb") as file:
            assert file.read() == odd
    assert (top / "new.txt").read_text() == "precious"
    assert os.access(top / "tool", os.X_OK)
    assert os.readlink(top / "link") == "tool"
    assert (top / "tracked.txt").read_text() == "one\n"
    assert not (top / "noise.log").exists()
    assert git(machine, "-C", str(top), "branch", "--show-current").strip() == "rekindle/fix"
    assert "was gone and has been built again from rekindle/fix" in machine.ok("show", session)
    refs = [line for line in before[2].splitlines() if "refs/heads/main" in line]
    after = of_the_user(machine)
    assert (after[:2], set(refs) <= set(after[2].splitlines())) == (before[:2], True)
    assert git(machine, "status", "--porcelain=v2", "-z", "--branch") == status


def test_a_worktree_that_cannot_be_built_fails_the_session_with_what_to_do(machine: Machine) -> None:
    session, top = killed(machine, "fix")
    git(machine, "worktree", "lock", "--reason", "on a stick", str(top))
    shutil.rmtree(top)
    refused = machine.run("resume", session)
    assert refused.returncode == 1
    assert "git worktree unlock" in refused.stderr
    assert machine.show(session)["state"] == "FAILED"
    git(machine, "worktree", "unlock", str(top))
    machine.ok("resume", session)
    assert (top / "new.txt").read_text() == "precious"
    assert machine.status(session) not in ("failed", "interrupted")


def test_a_branch_that_was_moved_meanwhile_is_reported_and_nothing_is_overwritten(machine: Machine) -> None:
    session, top = killed(machine, "fix")
    git(machine, "-C", str(top), "add", "new.txt")
    git(machine, "-C", str(top), "commit", "-q", "-m", "of somebody")
    (top / "new.txt").write_text("of somebody")
    machine.ok("resume", session)
    notices = machine.show(session)["notices"]
    assert any("rekindle/fix was moved" in one and "new.txt; nothing was overwritten" in one for one in notices)
    assert (top / "new.txt").read_text() == "of somebody"


def test_a_folder_that_is_no_worktree_is_not_made_up(machine: Machine) -> None:
    folder = machine.work / "sub"
    folder.mkdir()
    session = machine.begin("write a.txt 1", "stream 4000 0.05 word", options=("--cwd", str(folder)))
    machine.until_said(session, "word2")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    until(lambda: snapshots(machine, session), "a snapshot")
    shutil.rmtree(folder)
    refused = machine.run("resume", session)
    assert (refused.returncode, f"rekindle restore {session}" in refused.stderr) == (1, True)
    assert not folder.exists()


def test_names_and_refusals(machine: Machine) -> None:
    session = machine.begin("say hello", options=("--worktree", "--title", "greet"))
    shown = machine.show(session)
    assert (shown["cwd"], shown["branch"]) == (str(machine.work / ".worktrees" / session), f"rekindle/{session}")
    machine.until_said(session, "hello")
    taken = machine.run("run", "--worktree", "say hello")
    assert (taken.returncode, "was taken for the name" in taken.stderr) == (2, True)
    assert machine.run("run", "say hello", "--worktree=a..b").returncode == 2
    owned = machine.run("run", "say hello", f"--worktree={session}")
    assert (owned.returncode, f"session {session}" in owned.stderr) == (4, True)
    git(machine, "worktree", "add", "-q", "-b", "topic/x", str(machine.home / "x"))
    elsewhere = machine.run("run", "say hello", "--worktree=topic/x")
    assert (elsewhere.returncode, "checked out in" in elsewhere.stderr) == (2, True)
    assert len(json.loads(machine.ok("ps", "--all", "--json"))["sessions"]) == 1


def test_a_detached_head_and_a_place_from_the_settings(machine: Machine) -> None:
    git(machine, "checkout", "-q", "--detach")
    (machine.work / ".rekindle.toml").write_text('worktrees_dir = "trees"\n')
    machine.ok("run", "write a.txt 1", "--worktree=x")
    assert (machine.work / "trees" / "x" / "a.txt").read_text() == "1"
    assert not (machine.work / "a.txt").exists()
    assert git(machine, "branch", "--show-current") == ""
    assert "trees/" not in git(machine, "status", "--porcelain")
