"""Locks that a killed git left in a feature's way: named, removed after a yes, never taken from the living."""

from __future__ import annotations

import os
import subprocess

from tests.e2e.features import FEATURE, Shop, task
from tests.e2e.typist import Typist

LOCK = "run touch ../../../.git/refs/heads/feature/shop.lock"


def test_a_stale_lock_on_a_branch_is_named_and_removed_after_a_yes(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", LOCK, "write b.txt b"))
    done = shop.machine.run("run", "--plan", plan)
    lock = shop.root / ".git" / "refs" / "heads" / "feature" / "shop.lock"
    assert done.returncode == 1 and f"a lock was left behind: {lock}" in done.stdout
    assert "--remove-locks" in done.stdout
    os.utime(lock, (1, 1))
    asked = shop.machine.run("resume", FEATURE)
    assert asked.returncode == 3 and str(lock) in asked.stderr and "days old" in asked.stderr
    assert f"rekindle resume {FEATURE} --remove-locks" in asked.stderr
    assert "no input needed" not in asked.stdout
    assert str(lock) in shop.machine.ok("resume", FEATURE, "--explain")
    with subprocess.Popen(["git", "cat-file", "--batch"], cwd=shop.root, stdin=subprocess.PIPE) as living:
        held = shop.machine.run("resume", FEATURE, "--remove-locks")
        assert held.returncode == 4 and f"git (pid {living.pid}) works in this repository" in held.stderr
        living.kill()
    assert lock.exists()
    shop.machine.ok("resume", FEATURE, "--remove-locks")
    assert not lock.exists()
    [decided] = shop.events("resume.decided")
    assert str(lock) in decided["data"]["removed_locks"][0]
    assert [subject for subject, _ in shop.history()] == ["Merge task a: Task a", "Merge task b: Task b"]


def test_a_person_at_a_terminal_is_asked_about_a_stale_lock(shop: Shop) -> None:
    lock = shop.root / ".git" / "refs" / "heads" / "feature" / "shop.lock"
    assert shop.machine.run("run", "--plan", shop.plan(task("a", LOCK, "write a.txt a"))).returncode == 1
    with Typist(shop.machine, "resume", FEATURE) as person:
        person.until_shown("Remove them?")
        assert str(lock) in person.screen and lock.exists()
        person.type("y\n")
        person.until_shown("shop: completed")
    assert not lock.exists()
