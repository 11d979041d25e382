"""Several features at once in one repository: what happens to one is no business of the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.e2e.daemon import is_running, until
from tests.e2e.features import Shop, task

pytestmark = pytest.mark.timeout(280)
NAMES = ("one", "two", "three")
WAIT = "run sh -c 'test -e ../../../go || sleep 60'"


def begin_all(shop: Shop) -> dict[str, Shop]:
    """Three features whose tasks change the same files; in `two` a task has failed before the others are cut."""
    shops = {name: replace(shop, feature=name) for name in NAMES}
    for name, one in shops.items():
        bad = ["test -e mended.txt"] if name == "two" else []
        tasks = (
            task("a", f"write same.txt {name}", checks=bad),
            task("b", f"write readme.txt {name}", WAIT, "write late.txt x"),
        )
        shop.machine.ok("run", "--plan", one.plan(*tasks), "--detach")
    for one in shops.values():
        until(lambda one=one: "sleep 60" in said(one, "b"), f"work on b of {one.feature}")  # type: ignore[misc]
    until(lambda: shops["two"].events("task.failed"), "the failure")
    for name in ("one", "three"):
        until(lambda name=name: shops[name].events("task.completed"), "the first merge")  # type: ignore[misc]
    return shops


def said(one: Shop, task_id: str) -> str:
    rows = one.machine.json("ps", "--all")["sessions"]
    found = [row for row in rows if row["feature"] == one.feature and row["title"].endswith(f"Task {task_id}")]
    return one.machine.said(found[-1]["id"]) if found else ""


def state_of(one: Shop) -> tuple[str, list[str], list[str], int]:
    """What belongs to a feature: its refs, its worktrees with their changes, what was done for it."""
    name = one.feature
    private = [f"refs/rekindle/{kind}/{name}" for kind in ("checked", "base", "merged", "kept")]
    refs = one.git("for-each-ref", f"refs/heads/feature/{name}", f"refs/heads/work/{name}", *private)
    listed = one.git("worktree", "list", "--porcelain").splitlines()
    trees = [line.removeprefix("worktree ") for line in listed if f"/.worktrees/{name}/" in line]
    begun = one.events("session.start", "task.started", "agent.spawned")
    return refs, trees, [one.git("status", "--porcelain", cwd=tree) for tree in trees], len(begun)


def test_three_features_that_change_the_same_files_are_killed_and_each_goes_on_or_says_what_to_do(shop: Shop) -> None:
    before = shop.checkout()
    shops = begin_all(shop)
    shop.kill_everything()
    (shop.root / "go").write_text("")
    untouched = state_of(shops["two"])
    told = shop.machine.ok("resume", "--all")
    assert "two: skipped, it asks (case B): rekindle resume two" in told
    for name in ("one", "three"):
        until(lambda name=name: is_over(shops[name]), f"the end of {name}")  # type: ignore[misc]
        assert shops[name].events("session.end")[-1]["data"]["reason"] == "completed"
        assert [subject for subject, _ in shops[name].history()] == ["Merge task a: Task a", "Merge task b: Task b"]
        assert shop.git("show", f"feature/{name}:same.txt") == shop.git("show", f"feature/{name}:readme.txt") == name
        assert shops[name].count("branch.merged") == {"a": 1, "b": 1}
        assert shop.git("branch", "--list", f"work/{name}/*") == ""
    assert state_of(shops["two"]) == untouched, "nobody has decided about it"
    assert shop.machine.stamped() == []
    shop.machine.ok("resume", "two", "--choose", "B")
    assert shop.git("ls-tree", "--name-only", "feature/two").split() == ["late.txt", "readme.txt"]
    (shop.root / "go").unlink()
    assert shop.checkout() == before


def is_over(one: Shop) -> bool:
    return len(one.events("session.end")) == 1


@pytest.mark.parametrize("choice", ["A", "B"])
def test_agents_that_outlived_the_daemon_are_gone_before_their_task_starts_over_or_is_skipped(
    shop: Shop, choice: str
) -> None:
    """A daemon that is killed leaves its agents at work: two of them must never be at one task."""
    two = replace(shop, feature="two")
    plan = two.plan(task("b", "write b.txt b", WAIT, "write late.txt x"))
    shop.machine.ok("run", "--plan", plan, "--detach")
    until(lambda: "sleep 60" in said(two, "b"), "work on b")
    shop.machine.ok("track", "blocker", "which key?", "--feature", "two", "--task", "b")
    [first] = [row["id"] for row in shop.machine.json("ps")["sessions"]]
    agent = shop.machine.pids(first)["agent"]
    shop.machine.kill_daemon()
    (shop.root / "go").write_text("")
    assert is_running(agent)
    shop.machine.ok("resume", "two", "--choose", choice, "--detach")
    assert not is_running(agent)
    until(lambda: is_over(two), "the end")
    assert two.events("session.end")[-1]["data"]["reason"] == "completed"
    assert len(two.history()) == (1 if choice == "A" else 0)
    assert shop.machine.show(first)["session"]["state"] == "CANCELLED"


def test_of_two_who_resume_at_once_one_runs_and_the_other_is_refused(shop: Shop) -> None:
    plan = shop.plan(task("a", "write a.txt a", WAIT, "stream 60 0.05 x"))
    running = shop.start("run", "--plan", plan)
    until(lambda: (shop.root / ".worktrees" / "shop" / "a" / "a.txt").exists(), "work")
    shop.kill_everything()
    running.communicate(timeout=60)
    (shop.root / "go").write_text("")
    both = [shop.start("resume", "shop") for _ in range(2)]
    told = {one.communicate(timeout=100)[0]: one.returncode for one in both}
    assert sorted(told.values()) == [0, 4], told
    [refused] = [text for text, code in told.items() if code == 4]
    assert "is held by pid" in refused or "is already running" in refused or "another process holds" in refused
    assert len(shop.events("session.start")) == 2
    assert shop.count("branch.merged") == {"a": 1}
