"""Features without worktrees (`feature_worktrees = "none"`): worked in turn in a clone, whatever dies when."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task

pytestmark = pytest.mark.timeout(400)
GO = "test -e ../../../go || sleep 120"


@pytest.fixture
def plain(shop: Shop) -> Shop:
    shop.machine.ok("config", "set", "feature_worktrees", "none")
    return shop


def work(shop: Shop) -> Path:
    return shop.root / ".worktrees" / FEATURE / ".work"


def clone(shop: Shop) -> Path:
    return shop.root / ".git" / "rekindle" / "clones" / f"{FEATURE}.git"


def slow(name: str) -> tuple[str, ...]:
    return (f"write {name}.txt {name}", f"run sh -c '{GO}'", f"write {name}2.txt more")


def check_finished(shop: Shop, before: tuple[str, ...], *tasks: str) -> None:
    """Every task was merged once, the user's checkout is as it was, and nothing is left behind."""
    assert shop.count("branch.merged") == dict.fromkeys(tasks, 1)
    files = shop.git("ls-tree", "--name-only", f"feature/{FEATURE}").splitlines()
    assert {f"{name}.txt" for name in tasks} <= set(files)
    assert [subject for subject, _ in shop.history()] == [f"Merge task {name}: Task {name}" for name in tasks]
    assert shop.checkout() == before
    assert len(shop.git("worktree", "list").splitlines()) == 1
    assert not clone(shop).exists() and shop.git("branch", "--list", "work/*") == ""
    assert not (shop.root / ".worktrees").exists()


def test_tasks_are_worked_one_after_the_other_and_the_repository_has_no_worktree(plain: Shop) -> None:
    before = plain.checkout()
    plan = plain.plan(*(task(name, checks=[f"test -e {name}.txt"]) for name in ("a", "b")))
    plain.machine.ok("run", "--plan", plan)
    check_finished(plain, before, "a", "b")
    started = [event["data"]["taskId"] for event in plain.events("task.started")]
    ended = [event["data"]["taskId"] for event in plain.events("branch.merged")]
    assert started == ended == ["a", "b"]
    order = [(one["type"], one["data"].get("taskId")) for one in plain.events() if one["type"].startswith("task.")]
    assert order == [(kind, name) for name in "ab" for kind in ("task.started", "task.completed")]


def test_after_the_end_of_everything_a_resume_does_what_explain_says_and_goes_on_in_the_clone(plain: Shop) -> None:
    before = plain.checkout()
    running = plain.start(
        "run", "--plan", plain.plan(task("a"), task("b", *slow("b"), needs=["a"]), task("c", needs=["b"]))
    )
    until((work(plain) / "b.txt").exists, "work", 240)
    assert len(plain.git("worktree", "list").splitlines()) == 1
    plain.kill_everything()
    running.communicate(timeout=120)
    assert plain.checkout() == before
    told = plain.machine.json("resume", FEATURE, "--explain")
    rows = {row["name"]: row["action"] for row in told["tasks"]}
    assert rows["a"] == "done" and rows["c"] == "not begun"
    refs = plain.git("for-each-ref")
    plain.machine.ok("resume", FEATURE, "--explain")
    assert plain.git("for-each-ref") == refs, "explaining changes nothing"
    plain.machine.ok("config", "set", "feature_worktrees", "each")  # where work has begun is where it goes on
    (plain.root / "go").write_text("")
    plain.machine.ok("resume", FEATURE)
    (plain.root / "go").unlink()
    check_finished(plain, before, "a", "b", "c")
    assert plain.git("show", f"feature/{FEATURE}:b2.txt") == "more"
    assert len([one for one in plain.machine.json("ps", "--all")["sessions"] if one["title"].endswith("Task b")]) == 1


def test_a_clone_that_is_deleted_with_its_folder_loses_no_commit(plain: Shop) -> None:
    before = plain.checkout()
    track = "run rekindle track file.created --file a.txt"
    script = ("write a.txt a", "run git add -A", "run git commit -qm by-hand", track, f"run sh -c '{GO}'")
    running = plain.start("run", "--plan", plain.plan(task("a", *script)))
    until(lambda: plain.events("file.created"), "an event from inside of the clone", 240)
    plain.kill_everything()
    running.communicate(timeout=120)
    plain.machine.json("resume", FEATURE, "--explain")
    (plain.root / "go").write_text("")
    shutil.rmtree(work(plain))
    plain.machine.ok("resume", FEATURE)
    (plain.root / "go").unlink()
    check_finished(plain, before, "a")
