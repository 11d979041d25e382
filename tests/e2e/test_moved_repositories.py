"""A repository that gets another name or place, or is copied: its features and sessions go on, each effect once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task

pytestmark = pytest.mark.timeout(280)


@pytest.fixture(autouse=True)
def there_in_the_end(shop: Shop) -> Iterator[None]:
    """Whoever clears up does that from the place that the test began in."""
    yield
    shop.root.mkdir(exist_ok=True)


def cut_in_mid_work(shop: Shop) -> Path:
    """A feature whose task b was at work, with one effect done and another to come, when everything died."""
    effects = shop.machine.home / "effects"
    wait = f"run sh -c 'test -e {shop.machine.home}/go || sleep 60'"
    first, second = (f"run sh -c 'echo {word} >> {effects}'" for word in ("first", "second"))
    pause = "run sleep 2"  # the wait may be killed a moment before the agent
    work = ("say I begin", first, wait, pause, second)
    plan = shop.plan(task("a"), task("b", "write b.txt b", *work, needs=["a"]))
    running = shop.start("run", "--plan", plan)
    until(lambda: effects.exists() and "▸ run: sh -c 'test" in shop.said("b"), "work on b")
    shop.kill_everything()
    running.communicate(timeout=60)
    (shop.machine.home / "go").write_text("")
    return effects


def moved(shop: Shop, name: str) -> Shop:
    new = shop.root.with_name(name)
    shop.root.rename(new)
    return replace(shop, machine=replace(shop.machine, work=new))


def sessions(shop: Shop, task: str) -> list[dict[str, Any]]:
    return [row for row in shop.machine.json("ps", "--all")["sessions"] if row["title"] == f"work: Task {task}"]


@pytest.mark.parametrize("is_repaired", [False, True])
def test_a_renamed_repository_goes_on_in_the_same_conversation_and_repeats_nothing(
    shop: Shop, is_repaired: bool
) -> None:
    effects = cut_in_mid_work(shop)
    before = shop.checkout()
    new = moved(shop, "renamed")
    if is_repaired:
        new.git("worktree", "repair", str(new.root / ".worktrees" / FEATURE / "b"))
    explained = new.machine.json("resume", FEATURE, "--explain")
    assert explained["unapproved"] is None, "the journal is still the user's own"
    tree = str(new.root / ".worktrees" / FEATURE / "b")
    assert {row["name"]: row["action"] for row in explained["worktrees"]} == {tree: "go on"}
    told = new.machine.ok("resume", FEATURE)
    assert "same (the agent's own record has every earlier prompt)" in told
    assert effects.read_text().splitlines() == ["first", "second"]
    [session] = sessions(new, "b")
    assert (session["cwd"], session["repository"], session["attempt"]) == (tree, str(new.root), 2)
    assert [subject for subject, _ in new.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert new.count("task.completed") == {"a": 1, "b": 1}
    assert new.checkout() == before
    assert not shop.root.exists()


def test_a_repository_that_is_renamed_and_back_goes_on_as_if_nothing_had_been(shop: Shop) -> None:
    effects = cut_in_mid_work(shop)
    there = moved(shop, "elsewhere")
    assert [row["cwd"] for row in sessions(there, "b")] == [str(there.root / ".worktrees" / FEATURE / "b")]
    back = moved(there, shop.root.name)
    assert "same (the agent's own record has every earlier prompt)" in back.machine.ok("resume", FEATURE)
    assert effects.read_text().splitlines() == ["first", "second"]
    [session] = sessions(back, "b")
    assert session["cwd"] == str(shop.root / ".worktrees" / FEATURE / "b")


def test_a_copy_goes_on_by_itself_and_takes_nothing_from_the_first(shop: Shop) -> None:
    effects = cut_in_mid_work(shop)
    copy = replace(shop, machine=replace(shop.machine, work=shop.root.with_name("copy")))
    shutil.copytree(shop.root, copy.root, symlinks=True)
    asked = copy.machine.run("resume", FEATURE)
    assert asked.returncode == 3, "nobody has said yes to a journal in this place"
    copy.machine.ok("resume", FEATURE, *copy.yes())
    assert [subject for subject, _ in copy.history()] == ["Merge task a: Task a", "Merge task b: Task b"]
    assert effects.read_text().splitlines() == ["first", "first", "second"], "it has an agent of its own"
    assert shop.count("task.completed") == {"a": 1}
    tree = shop.root / ".worktrees" / FEATURE / "b"
    assert shop.git("rev-parse", "--show-toplevel", cwd=tree) == str(tree)
    assert shop.git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=tree) == str(shop.root / ".git")
    assert "same (the agent's own record has every earlier prompt)" in shop.machine.ok("resume", FEATURE)
    assert effects.read_text().splitlines() == ["first", "first", "second", "second"]
    assert {row["repository"] for row in sessions(shop, "b")} == {str(shop.root), str(copy.root)}


def test_a_session_is_resumed_under_the_new_name_of_its_repository(shop: Shop) -> None:
    machine = shop.machine
    session = machine.begin("say one", "run sleep 60", "write late.txt x", options=("--worktree=mine",))
    machine.until_said(session, "run: sleep 60")
    shop.kill_everything()
    new = moved(shop, "renamed")
    told = new.machine.json("resume", session)
    assert told["receipt"]["kind"] == "same"
    assert told["cwd"] == str(new.root / ".worktrees" / "mine")
    until(lambda: (new.root / ".worktrees" / "mine" / "late.txt").exists(), "the rest of the work")
