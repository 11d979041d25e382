"""A repository that gets another name or place, or is copied: its features and sessions go on, each effect once."""

from __future__ import annotations

import json
import os
import shutil
import signal
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
    tree = str(new.root / ".worktrees" / FEATURE / "b")
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
    there.machine.ok("stop", there.machine.begin("say I am here"))
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


def test_another_repository_in_the_old_place_is_not_taken_for_the_one_that_was_moved(shop: Shop) -> None:
    effects = cut_in_mid_work(shop)
    new = moved(shop, "renamed")
    shop.root.mkdir()
    shop.make()
    shop.machine.ok("stop", shop.machine.begin("say hello"))
    asked = new.machine.run("resume", FEATURE)
    assert asked.returncode == 3, "what was approved for the old place may be the other one's by now"
    assert "same (the agent's own record has every earlier prompt)" in new.machine.ok("resume", FEATURE, *new.yes())
    assert effects.read_text().splitlines() == ["first", "second"]


def links(shop: Shop) -> dict[str, str]:
    """What the worktree of task b and the repository say of each other."""
    files = [shop.root / ".worktrees" / FEATURE / "b" / ".git", *(shop.root / ".git" / "worktrees").glob("*/gitdir")]
    return {str(path.relative_to(shop.root)): path.read_text() for path in files}


def ledgers(shop: Shop) -> list[str]:
    state = Path(shop.machine.places.store).parent
    return sorted(str(path) for path in (state / "journals").rglob("*"))


def test_looking_at_a_moved_repository_changes_nothing_and_says_what_a_resume_will_do(shop: Shop) -> None:
    cut_in_mid_work(shop)
    new = moved(shop, "renamed")
    before, books = links(new), ledgers(new)
    identity = (new.root / ".git" / "rekindle" / "identity.json").read_text()
    listed = new.machine.run("ps", "--all", "--json")
    explained = new.machine.run("resume", FEATURE, "--explain")
    told = new.machine.json("resume", FEATURE, "--explain")
    assert (links(new), ledgers(new)) == (before, books) and books
    assert (new.root / ".git" / "rekindle" / "identity.json").read_text() == identity
    assert str(shop.root / ".worktrees") in listed.stdout, "its sessions have not moved yet"
    sentence = f"{shop.root} is {new.root} now: the next `rekindle resume` relinks its worktrees"
    assert sentence in listed.stderr and sentence in explained.stdout and told["moved"]["next"].startswith(sentence)
    assert (told["moved"]["before"], told["moved"]["now"]) == (str(shop.root), str(new.root))
    new.machine.ok("resume", FEATURE)
    assert [subject for subject, _ in new.history()] == ["Merge task a: Task a", "Merge task b: Task b"]


def test_the_first_screen_calls_a_moved_repository_moved_and_its_journals_not_foreign(shop: Shop) -> None:
    shop.machine.ok("track", "session.start", "--feature", FEATURE)
    shop.machine.ok("run", "say hello")  # a session makes the repository known
    told = moved(shop, "renamed").machine.ok()
    assert f"{shop.root} is {shop.root.with_name('renamed')} now" in told
    assert "not written by your rekindle here" not in told
    assert f"next: rekindle resume {FEATURE}" in told


def test_the_links_of_a_worktree_that_an_agent_works_in_are_left_alone(shop: Shop) -> None:
    effects, go = shop.machine.home / "effects", shop.machine.home / "go"
    wait = f"run sh -c 'until test -e {go}; do sleep 0.1; done'"
    after = f"run sh -c 'echo done >> {effects}'"
    running = shop.start("run", "--plan", shop.plan(task("b", "write b.txt b", wait, after)))
    until(lambda: "▸ run: sh -c 'until" in shop.said("b"), "work on b")
    os.kill(shop.machine.daemon(), signal.SIGKILL)
    running.communicate(timeout=60)
    new = moved(shop, "renamed")
    before = links(new)
    refused = new.machine.run("resume", FEATURE)
    [session] = sessions(new, "b")
    assert refused.returncode == 4, refused.stdout + refused.stderr
    assert f"the agent of session {session['id']} works in it" in refused.stderr
    assert links(new) == before
    back = moved(new, shop.root.name)
    go.write_text("")
    back.machine.ok("resume", FEATURE)
    assert effects.read_text().splitlines() == ["done"]


def test_the_links_of_worktrees_that_a_run_elsewhere_holds_are_left_alone(shop: Shop) -> None:
    cut_in_mid_work(shop)
    new = moved(shop, "renamed")
    before = links(new)
    record = new.journal.parent / "owner.json"
    record.write_text(json.dumps({"sid": "aaaa0001", "machine": "the host", "boot": "x", "pidns": "y", "pid": 1}))
    refused = new.machine.run("resume", FEATURE)
    assert refused.returncode == 4, refused.stdout + refused.stderr
    assert "run aaaa0001 of shop is held on another host" in refused.stderr and str(record) in refused.stderr
    assert links(new) == before
    session = new.machine.begin("say a session in the checkout needs no links")
    assert links(new) == before and new.machine.json("show", session)["cwd"] == str(new.root)
    new.machine.ok("stop", session)
    record.unlink()
    new.machine.ok("resume", FEATURE)
    assert [subject for subject, _ in new.history()] == ["Merge task a: Task a", "Merge task b: Task b"]


def test_who_watches_a_run_whose_repository_is_renamed_is_told_where_to_go_on(shop: Shop) -> None:
    running = shop.start("run", "--plan", shop.plan(task("a", "write a.txt a", "stream 1200 0.05 tick")))
    until((shop.root / ".worktrees" / FEATURE / "a" / "a.txt").exists, "work")
    moved(shop, "renamed")
    told, _ = running.communicate(timeout=60)
    assert running.returncode == 1 and "git init" not in told
    assert f"{shop.root} is gone: the repository was moved or renamed" in told
    assert f"go to its new folder and continue there: rekindle resume {FEATURE}" in told
