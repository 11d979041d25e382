"""A host is gone, and another continues its session: the same conversation, the same files, and nobody twice."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.e2e.daemon import is_running, until
from tests.fleet.hosts import fleet_of, git, kill_host, placed, until_copied

pytestmark = pytest.mark.timeout(300)
BIRD = "say my favourite bird is the albatross"


@pytest.mark.parametrize("blobs", ["postgresql", "folder"])
def test_a_session_whose_host_died_in_mid_turn_goes_on_elsewhere_with_its_files(blobs: str) -> None:
    with fleet_of("a", "b", blobs=blobs) as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin(BIRD, "write new.txt precious", options=("--worktree", "--policy", "continue"))
        a.until_status(session, "asleep", "waiting", "idle", "ready")
        a.ok("send", session, "say the second\nsleep 600\nsay the end")
        a.until_said(session, "the second")
        until_copied(a, session)
        told = placed(b, session)
        assert (told["host"], told["here"]) == ("a", False)
        kill_host(a, session)

        refused = b.run("fleet", "takeover", session)
        assert refused.returncode == 2
        assert "host a" in refused.stderr and "--host-is-gone" in refused.stderr
        b.ok("fleet", "takeover", session, "--host-is-gone")
        told = placed(b, session)
        assert (told["host"], told["here"], told["arriving"]) == ("b", True, False)
        b.until_said(session, "the end")

        receipt = b.receipt(session)
        assert receipt["kind"] == "same", receipt
        assert "it was on host a and is on b now" in receipt["reason"]
        assert any("may be missing: what happened on a after" in one for one in receipt["unknown"])
        shown = b.show(session)
        assert Path(shown["cwd"]).is_relative_to(b.home)
        assert (Path(shown["cwd"]) / "new.txt").read_text().strip() == "precious", "an untracked file"
        said = b.said(session)
        assert said.count("my favourite bird is the albatross") >= 1
        assert [one["text"].splitlines()[0] for one in shown["session"]["prompts"] if one["by"] == "user"] == [
            BIRD,
            "say the second",
        ]
        again = b.run("fleet", "takeover", session, "--host-is-gone")
        assert again.returncode == 4 and "already" in again.stderr


def test_a_session_that_worked_in_the_checkout_goes_on_in_a_worktree_of_its_own() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin(BIRD, "write new.txt precious", options=("--policy", "ask"))
        a.until_status(session, "asleep", "waiting", "idle", "ready")
        until_copied(a, session)
        b.ok("fleet", "takeover", session, "--host-is-gone")
        b.ok("send", session, "say at home on b")
        b.until_said(session, "at home on b")
        tree = Path(b.show(session)["cwd"])
        assert (tree / "new.txt").read_text().strip() == "precious"
        assert git(tree, "rev-parse", "--abbrev-ref", "HEAD").strip() == f"rekindle/{session}"


def test_a_host_that_was_only_cut_off_is_refused_ends_its_agent_and_keeps_what_it_had() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "stream 3000 0.1 word", options=("--worktree", "--policy", "ask"))
        a.until_said(session, "begin")
        until_copied(a, session)
        agent = a.pids(session)["agent"]
        folder = Path(a.folder(session))
        b.ok("fleet", "takeover", session, "--host-is-gone")
        until(lambda: not is_running(agent), "the end of the agent on the host that lost the session")
        until(lambda: [one["host"] for one in a.sessions()] == ["b"], "the session is no longer a's")
        assert (folder / "out").stat().st_size > 0, "what it had is kept"
        until(lambda: b.status(session) == "working", "the session works on b")
        assert [one["host"] for one in a.json("fleet", "status")["sessions"]] == ["b"]
        b.ok("stop", session)


def test_a_host_that_comes_back_finds_itself_fenced() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin("say begin", "sleep 600", "say end", options=("--worktree", "--policy", "ask"))
        a.until_said(session, "begin")
        until_copied(a, session)
        agent, folder = a.pids(session)["agent"], Path(a.folder(session))
        a.kill_daemon()
        b.ok("fleet", "takeover", session, "--host-is-gone")
        b.until_status(session, "working")
        assert is_running(agent), "nobody on a could know"
        a.ok("fleet", "status")  # starts its daemon again
        until(lambda: not is_running(agent), "the end of the agent that had lost its session")
        assert [one["host"] for one in a.sessions()] == ["b"]
        assert (folder / "out").exists()
        assert os.path.isdir(a.work / ".worktrees")
        b.ok("stop", session)


def test_a_session_goes_back_to_a_host_that_had_it_and_takes_its_commits_along() -> None:
    with fleet_of("a", "b") as hosts:
        a, b = hosts["a"], hosts["b"]
        session = a.begin(BIRD, "write new.txt first", options=("--worktree", "--policy", "ask"))
        a.until_status(session, "asleep", "waiting", "idle", "ready")
        until_copied(a, session)
        b.ok("fleet", "takeover", session, "--host-is-gone")
        b.ok("send", session, "write new.txt second\nsay on b")
        b.until_said(session, "on b")
        b.until_status(session, "asleep", "waiting", "idle", "ready")
        tree = Path(b.show(session)["cwd"])
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", "from b")
        b.ok("send", session, "write late.txt third\nsay again on b")
        b.until_said(session, "again on b")
        b.until_status(session, "asleep", "waiting", "idle", "ready")
        until_copied(b, session)
        a.ok("fleet", "takeover", session, "--host-is-gone")
        a.ok("send", session, "say at home again")
        a.until_said(session, "at home again")
        home = Path(a.show(session)["cwd"])
        assert (home / "new.txt").read_text().strip() == "second"
        assert (home / "late.txt").read_text().strip() == "third"
        assert "from b" in git(home, "log", "--format=%s")
        assert a.receipt(session)["kind"] == "same"
        aside = Path(a.places.state) / "kept-aside"
        assert [one.name for one in aside.iterdir()] == [f"{session}-1"], "what a had before is kept"


def test_how_far_a_copy_is_behind_is_shown_and_grows_while_it_cannot_be_made() -> None:
    with fleet_of("a", blobs="folder") as hosts:
        a = hosts["a"]
        session = a.begin("say begin", "stream 3000 0.1 word")
        a.until_said(session, "begin")
        until_copied(a, session)
        mount = hosts.folder / "mount"
        mount.rename(hosts.folder / "away")
        mount.write_text("not a folder")  # also for root, who can write anywhere
        until(lambda: placed(a, session)["behind"] > 3, "a copy that is more than 3 s behind")
        assert " s behind" in a.ok("fleet", "status")
        mount.unlink()
        (hosts.folder / "away").rename(mount)
        began = time.time()
        until_copied(a, session)
        assert placed(a, session)["behind"] < time.time() - began + 3
        a.ok("stop", session)


def test_a_machine_without_a_fleet_says_so(tmp_path: Path) -> None:
    from tests.e2e.daemon import Machine

    machine = Machine(tmp_path / "home", tmp_path / "work")
    machine.home.mkdir()
    machine.work.mkdir()
    told = machine.run("fleet", "status")
    assert told.returncode == 2
    assert "not a host of a fleet" in told.stderr
    machine.clean_up()
