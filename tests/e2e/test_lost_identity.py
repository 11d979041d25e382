"""A repository whose id is late, lost or changed while an agent works: nobody gets a second one beside the first."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task

pytestmark = pytest.mark.timeout(280)


def cut_from_its_agent(shop: Shop) -> Path:
    """Only the daemon dies: the agent of task a is in the middle of its work, with one effect of two done."""
    effects, go = shop.machine.home / "effects", shop.machine.home / "go"
    first, second = (f"run sh -c 'echo {word} >> {effects}'" for word in ("first", "second"))
    wait = f"run sh -c 'until test -e {go}; do sleep 0.1; done'"
    running = shop.start("run", "--plan", shop.plan(task("a", "write a.txt a", first, wait, second)))
    until(lambda: effects.exists() and "▸ run: sh -c 'until" in shop.said("a"), "work on a")
    os.kill(shop.machine.daemon(), signal.SIGKILL)
    running.communicate(timeout=60)
    return effects


def identity(shop: Shop) -> Path:
    return shop.root / ".git" / "rekindle" / "identity.json"


@pytest.mark.parametrize("was", ["late", "lost"])
def test_a_task_whose_agent_lives_goes_on_in_its_session_when_the_id_was_late_or_is_lost(shop: Shop, was: str) -> None:
    if was == "late":  # git's folder cannot be written to at first
        identity(shop).parent.write_text("in the way\n")
    effects = cut_from_its_agent(shop)
    [before] = shop.machine.json("ps", "--all")["sessions"]
    (identity(shop).parent if was == "late" else identity(shop)).unlink()
    shop.machine.ok("resume", FEATURE, "--detach")
    until(lambda: identity(shop).exists(), "an id")
    (shop.machine.home / "go").write_text("")
    until(lambda: shop.events("session.end"), "the end of the run")
    assert effects.read_text().splitlines() == ["first", "second"]
    [after] = shop.machine.json("ps", "--all")["sessions"]
    assert after["id"] == before["id"]
    assert shop.count("task.completed") == {"a": 1}


def test_a_plain_session_does_not_give_the_repository_an_id_that_its_feature_does_not_know(shop: Shop) -> None:
    effects = cut_from_its_agent(shop)
    identity(shop).unlink()
    shop.machine.begin("say hello")
    (shop.machine.home / "go").write_text("")
    shop.machine.ok("resume", FEATURE)
    assert effects.read_text().splitlines() == ["first", "second"]


def test_no_agent_is_started_beside_one_that_works_on_the_same_task_under_another_id(shop: Shop) -> None:
    effects = cut_from_its_agent(shop)
    [before] = shop.machine.json("ps", "--all")["sessions"]
    kept = json.loads(identity(shop).read_text())
    identity(shop).write_text(json.dumps({**kept, "id": "0" * 32}))
    refused = shop.machine.run("resume", FEATURE)
    assert refused.returncode == 1
    assert f"session {before['id']} already works on task a" in refused.stdout + refused.stderr
    assert effects.read_text().splitlines() == ["first"]
    [after] = shop.machine.json("ps", "--all")["sessions"]
    assert (after["id"], after["status"]) == (before["id"], "working"), "it is left alone"
    (shop.machine.home / "go").write_text("")
    until(lambda: effects.read_text().splitlines() == ["first", "second"], "the rest of its work")
