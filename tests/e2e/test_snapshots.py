"""The work-tree time machine through the command line: real daemon, real scripted agent, real SIGKILL."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import Machine, until

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        made = Machine(Path(folder, "home"), Path(folder, "work"))
        made.home.mkdir()
        made.work.mkdir()
        git(made, "init", "-q", "-b", "main")
        (made.work / "tracked.txt").write_text("one\n")
        git(made, "add", "-A")
        git(made, "commit", "-q", "-m", "begin")
        yield made
        made.clean_up()
        assert made.stamped() == []


def git(machine: Machine, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *words],
        cwd=machine.work,
        env=machine.environment(GIT_OPTIONAL_LOCKS="0"),
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def of_the_user(machine: Machine) -> tuple[bytes, bytes, str]:
    refs = [line for line in git(machine, "for-each-ref").splitlines() if "refs/rekindle/" not in line]
    folder = machine.work / ".git"
    return (folder / "index").read_bytes(), (folder / "HEAD").read_bytes(), "\n".join(refs)


def snapshots(machine: Machine, session: str) -> list[dict[str, Any]]:
    return list(machine.json("snapshots", session)["snapshots"])


def ended(taken: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in taken if "has ended" in one["reason"]]


def test_what_a_killed_agent_had_written_is_in_a_snapshot(machine: Machine) -> None:
    before = of_the_user(machine)
    session = machine.begin("write new.txt precious", "stream 4000 0.05 word")
    machine.until_said(session, "word2")
    status = git(machine, "status", "--porcelain=v2", "-z", "--branch")
    machine.kill(machine.pids(session)["agent"])
    machine.until_status(session, "interrupted")
    kept = until(lambda: ended(snapshots(machine, session)), "a snapshot")[0]
    assert git(machine, "show", f"{kept['id']}:new.txt") == "precious"
    assert (kept["reason"], kept["branch"]) == ("attempt 1 has ended", "main")
    assert of_the_user(machine) == before
    assert git(machine, "status", "--porcelain=v2", "-z", "--branch") == status

    machine.ok("serve", "--stop")
    (machine.work / "new.txt").write_text("spoilt")
    assert "-precious" in machine.ok("diff", session)
    told = json.loads(machine.ok("diff", session[:6], "--json"))
    assert (told["session"], told["a"], told["b"], "-precious" in told["diff"]) == (session, None, None, True)
    target = machine.work.parent / "back"
    machine.ok("restore", session[:6], "--to", str(target))
    assert (target / "new.txt").read_text() == "precious"
    assert machine.run("restore", session, "--to", str(target)).returncode == 2
    machine.ok("restore", session)
    assert (machine.work / "new.txt").read_text() == "precious"
    told = machine.ok("snapshots", session)
    assert "before a restore of" in told
    assert "spoilt" in machine.ok("diff", session, "~0", "~1") + machine.ok("diff", session, "~1", "~0")
    assert of_the_user(machine) == before


def test_every_turn_that_changed_something_has_a_snapshot(machine: Machine) -> None:
    machine.ok("run", "write a.txt 1")
    session = machine.json("ps")["sessions"][0]["id"]
    machine.ok("send", session, "write b.txt 2", "--follow")
    machine.ok("serve", "--stop")
    taken = [set(git(machine, "ls-tree", "--name-only", one["id"]).split()) for one in snapshots(machine, session)]
    assert tuple(taken[-2:]) == ({"a.txt", "tracked.txt"}, {"a.txt", "b.txt", "tracked.txt"})


def test_a_live_agents_tree_is_not_restored_under_its_hands(machine: Machine) -> None:
    session = machine.begin("write a.txt 1", "stream 4000 0.05 word")
    machine.until_said(session, "word2")
    refused = machine.run("restore", session)
    assert (refused.returncode, "stop it first" in refused.stderr) == (4, True)
    assert machine.run("snapshots", "nosuch").returncode == 2
    assert "has ended" not in machine.ok("snapshots", session)


def test_an_agent_outside_of_a_repository_has_no_snapshots_and_no_complaint(machine: Machine) -> None:
    shutil.rmtree(machine.work / ".git")
    machine.ok("run", "write a.txt 1")
    [row] = machine.json("ps")["sessions"]
    assert snapshots(machine, row["id"]) == []
    assert machine.run("restore", row["id"]).returncode == 2
    assert machine.show(row["id"])["notices"] == []
