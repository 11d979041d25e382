"""What nobody has a record of: `rekindle doctor` names each with the command that would remove it, and touches none."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from rekindle.adapters.daemon_socket.client import is_served
from tests.e2e.daemon import Machine, is_running, until
from tests.e2e.features import Shop

pytestmark = pytest.mark.timeout(120)


def remedies(shop: Shop) -> dict[str, str]:
    """What the doctor has noticed, and what it would do; nothing of it is called bad."""
    findings = shop.machine.json("doctor")["findings"]
    assert not [one for one in findings if one["state"] == "bad"]
    return {one["what"]: one["remedy"] for one in findings if "left alone" in one["remedy"] or "kept" in one["remedy"]}


def obey(shop: Shop, remedy: str) -> None:
    subprocess.run(shlex.split(remedy.rpartition(": ")[2]), cwd=shop.root, check=True, capture_output=True)


def begun_and_ended(machine: Machine) -> None:
    """A store with something in it."""
    machine.ok("stop", machine.begin("say hello"))


def test_a_branch_and_a_worktree_that_no_journal_knows(shop: Shop) -> None:
    tree = shop.root / ".worktrees" / "old" / "a"
    shop.git("worktree", "add", "-q", "-b", "work/old/a", str(tree))
    worktree = f"no journal mentions the worktree {tree} (clean)"
    branch = "no journal mentions the branch work/old/a (no commits of its own, checked out)"
    found = remedies(shop)
    assert found.keys() == {worktree, branch}
    assert tree.is_dir() and shop.git("branch", "--list", "work/*")
    obey(shop, found[worktree])
    obey(shop, found[branch])
    assert remedies(shop) == {}


def test_an_agent_and_a_folder_that_the_store_does_not_know(shop: Shop) -> None:
    machine = shop.machine
    begun_and_ended(machine)
    machine.ok("serve", "--stop")
    until(lambda: not is_served(machine.places), "the end of the daemon")
    before = Path(shutil.copy(machine.places.store, machine.home / "before.db"))
    session = machine.begin("stream 900 0.1 x")
    machine.until_said(session, "x1")
    pids = machine.pids(session)
    machine.kill_daemon()
    for path in Path(machine.places.store).parent.glob(f"{Path(machine.places.store).name}*"):
        path.unlink()
    shutil.move(before, machine.places.store)
    left = Path(machine.places.sessions, "0000000000")
    left.mkdir()
    found = remedies(shop)
    agent = f"a running agent without a session: {machine.places.sessions}/{session}"
    folder = f"a session folder that is not in the store: {left}"
    assert found.keys() == {agent, folder}
    assert all(is_running(pid) for pid in pids.values()) and left.is_dir()
    assert found[agent] == f"it is left alone; to end it: kill {pids['guard']}"
    obey(shop, found[agent])
    until(lambda: not any(is_running(pid) for pid in pids.values()), "the end of the agent")
    obey(shop, found[folder])
    assert not left.exists()


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_a_tmux_session_that_no_session_knows(shop: Shop) -> None:
    machine = shop.machine
    begun_and_ended(machine)
    tmux = ["tmux", "-f", "/dev/null", "-S", machine.places.terminals]
    subprocess.run([*tmux, "new-session", "-d", "-s", "rekindle-gone", "sleep", "100"], check=True)
    subprocess.run([*tmux, "new-session", "-d", "-s", "somebody-else", "sleep", "100"], check=True)
    try:
        found = remedies(shop)
        assert found.keys() == {"a tmux session without a rekindle session: rekindle-gone"}
        obey(shop, *found.values())
        assert remedies(shop) == {}
        listed = subprocess.run([*tmux, "list-sessions", "-F", "#S"], check=True, capture_output=True, text=True)
        assert listed.stdout.split() == ["somebody-else"]
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)
