"""Conflicts that no agent could resolve: every documented way for a person to go on, and what becomes of old merges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.features import FEATURE, Shop, task
from tests.soaking import only_in_soak

WHO = "-c user.name=t -c user.email=t@example.invalid"


def tree_of(shop: Shop, name: str = ".integration") -> Path:
    return shop.root / ".worktrees" / FEATURE / name


def blocked(shop: Shop, *more: str) -> Path:
    """A feature whose second task conflicts with its first; returns where the merge waits."""
    plan = shop.plan(task("a", "write same.txt one"), task("b", "write same.txt two"), *more)
    done = shop.machine.run("run", "--plan", plan)
    assert done.returncode == 1 and "its merge has conflicts" in done.stdout
    assert f"resolve them in {tree_of(shop)}" in done.stdout
    assert "<<<<<<<" in (tree_of(shop) / "same.txt").read_text()
    asked = shop.machine.run("resume", FEATURE)
    assert asked.returncode == 3 and "--choose A" in asked.stderr
    return tree_of(shop)


def in_files(shop: Shop) -> None:
    (tree_of(shop) / "same.txt").write_text("one and two")


def in_the_index(shop: Shop) -> None:
    in_files(shop)
    shop.git("add", "same.txt", cwd=tree_of(shop))


def by_a_commit(shop: Shop) -> None:
    in_the_index(shop)
    shop.git("commit", "-q", "-m", "resolved by hand", cwd=tree_of(shop))


def on_the_branch(shop: Shop) -> None:
    shop.git("merge", "-q", "--no-commit", "-s", "ours", f"feature/{FEATURE}", cwd=tree_of(shop, "b"))
    (tree_of(shop, "b") / "same.txt").write_text("one and two")
    shop.git("commit", "-q", "-a", "-m", "merged by hand", cwd=tree_of(shop, "b"))


@pytest.mark.parametrize("resolve", [in_files, by_a_commit, on_the_branch, *only_in_soak(in_the_index)])
def test_what_a_person_has_resolved_is_merged_by_a_plain_resume(shop: Shop, resolve: Callable[[Shop], None]) -> None:
    before = shop.checkout()
    tree = blocked(shop, task("c", "write c.txt c", needs=["b"]))
    resolve(shop)
    [row] = [one for one in shop.machine.json("resume", FEATURE, "--explain")["tasks"] if one["name"] == "b"]
    assert resolve is on_the_branch or f"are resolved in {tree}: that result is merged" in row["why"]
    shop.machine.ok("resume", FEATURE)
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "one and two"
    assert [subject for subject, _ in shop.history()] == [f"Merge task {name}: Task {name}" for name in "abc"]
    assert shop.count("branch.merged") == {"a": 1, "b": 1, "c": 1}
    assert shop.count("task.started") == {"a": 1, "b": 1, "c": 1}, "nothing was done again"
    assert not tree.exists() and shop.checkout() == before


def half_resolved(shop: Shop) -> str:
    """What a person has begun to write before they changed their mind."""
    (tree_of(shop) / "same.txt").write_text("<<<<<<< I began to resolve this\n")
    return "<<<<<<< I began to resolve this"


def kept_merge(shop: Shop) -> str:
    """The state of the merge that was given up, as the warning in the journal names it."""
    [told] = [
        event["data"]["message"]
        for event in shop.events("warning.logged")
        if "was given up" in event["data"]["message"]
    ]
    refs = shop.git("for-each-ref", "--format=%(refname)", "refs/rekindle/kept").splitlines()
    [ref] = [ref for ref in refs if ref in told]
    return shop.git("show", f"{ref}:same.txt")


def test_a_conflict_can_be_left_behind_by_starting_its_task_over(shop: Shop) -> None:
    blocked(shop, task("c", needs=["b"]))
    half = half_resolved(shop)
    shop.machine.ok("resume", FEATURE, "--choose", "A")
    assert [subject for subject, _ in shop.history()] == [f"Merge task {name}: Task {name}" for name in "abc"]
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "two"
    assert kept_merge(shop) == half


def test_a_conflict_can_be_left_behind_by_skipping_its_task(shop: Shop) -> None:
    tree = blocked(shop, task("c", after=["b"]))
    half = half_resolved(shop)
    shop.machine.ok("resume", FEATURE, "--choose", "B")
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task c: Task c"]
    assert kept_merge(shop) == half and not tree.exists()


def test_a_conflict_that_is_skipped_last_leaves_no_merge_under_way(shop: Shop) -> None:
    tree = blocked(shop)
    half = half_resolved(shop)
    shop.machine.ok("resume", FEATURE, "--choose", "B")
    assert kept_merge(shop) == half and not tree.exists()


def test_a_conflict_goes_on_with_a_persons_words(shop: Shop) -> None:
    blocked(shop)
    half = half_resolved(shop)
    words = f"run git {WHO} merge -q -s ours feature/shop\nwrite same.txt one and two"
    shop.machine.ok("resume", FEATURE, "--choose", "C", "--instructions", words)
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "one and two"
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert kept_merge(shop) == half


def test_a_persons_words_also_reach_the_agent_that_is_asked_to_merge(shop: Shop) -> None:
    blocked(shop)
    shop.machine.ok("resume", FEATURE, "--choose", "C", "--instructions", "write same.txt one and two")
    assert shop.git("show", f"feature/{FEATURE}:same.txt") == "one and two"
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task b: Task b"]


def test_a_conflict_lets_no_later_task_of_its_wave_overtake(shop: Shop) -> None:
    blocked(shop, task("c"))
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a"]
    in_files(shop)
    shop.machine.ok("resume", FEATURE)
    assert [subject for subject, _ in shop.history()] == [f"Merge task {name}: Task {name}" for name in "abc"]
    assert shop.count("task.started") == {"a": 1, "b": 1, "c": 1}


def test_what_a_waves_check_leaves_behind_is_in_no_later_tasks_way(shop: Shop) -> None:
    head = "lint = [\"sh -c 'echo left by a check >> b.txt; echo more >> a.txt'\"]"
    shop.machine.ok("run", "--plan", shop.plan(task("a"), task("b", needs=["a"]), head=head))
    assert shop.git("show", f"feature/{FEATURE}:a.txt") == "a" and shop.git("show", f"feature/{FEATURE}:b.txt") == "b"
    told = [event["data"]["message"] for event in shop.events("warning.logged")]
    assert [f"wave {number} left something behind" in one for number, one in enumerate(told, start=1)] == [True, True]
    refs = shop.git("for-each-ref", "--format=%(refname)", "refs/rekindle/kept").splitlines()
    assert all(any(ref in one for one in told) for ref in refs) and len(refs) == 2
    assert shop.git("show", f"{refs[0]}:b.txt") == "left by a check"
