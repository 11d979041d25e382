"""A journal that the user's rekindle did not write here is data: it is worked after a yes to all that it would run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task
from tests.journals import line


def put_orders(shop: Shop, *, label: str = "one") -> Path:
    """A plan whose prompt and checks leave traces; nothing in it asks a question. Returns where the traces are."""
    traces = shop.machine.home / "traces"
    traces.mkdir(exist_ok=True)
    work = {
        "id": "a",
        "summary": "Innocent",
        "agent": "scripted",
        "prompt": f"run touch {traces}/prompt-{label}\nwrite a.txt a",
        "checks": [f"touch {traces}/check-{label}"],
    }
    wave = {"wave": 1, "task_ids": ["a"], "lint": [f"touch {traces}/lint-{label}"], "checks": []}
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement", "mode": "standard"}),
        ("plan.created", {"tasks": [work], "waves": [wave], "dependencies": []}),
        ("checkpoint", {"label": "begin", "plan_step": "wave-1-start"}),
    ]
    shop.put_journal(*(line(type_, "f4e3d2c1", seq, **data) for seq, (type_, data) in enumerate(events)))
    return traces


def test_the_first_screen_does_not_pass_it_off_as_the_users_own(shop: Shop) -> None:
    put_orders(shop)
    told = shop.machine.ok()
    assert "not written by your rekindle here" in told and "no input needed" not in told


def test_resume_all_leaves_it_alone_and_says_so(shop: Shop) -> None:
    traces = put_orders(shop)
    told = shop.machine.ok("resume", "--all")
    assert f"{FEATURE}: skipped, its journal was not written by your rekindle on this machine" in told
    assert list(traces.iterdir()) == []
    assert len(shop.events("session.start")) == 1


def test_by_name_it_shows_everything_and_asks(shop: Shop) -> None:
    traces = put_orders(shop)
    asked = shop.machine.run("resume", FEATURE)
    assert asked.returncode == 3
    for shown in (f"touch {traces}/prompt-one", f"check: touch {traces}/check-one", f"touch {traces}/lint-one"):
        assert shown in asked.stdout
    assert "agent scripted" in asked.stdout
    assert "permission edits" in asked.stdout
    assert "--trust" in asked.stderr
    assert list(traces.iterdir()) == []
    asked = shop.machine.run("resume", FEATURE, "--json")
    assert (asked.returncode, json.loads(asked.stdout)["error"]["code"]) == (3, "not_approved")


def test_after_a_yes_it_is_worked_and_the_yes_is_remembered(shop: Shop) -> None:
    traces = put_orders(shop)
    with shop.journal.open("ab") as file:
        file.write(line("blocker.reported", "f4e3d2c1", 3, description="which key?", task="a") + b"\n")
    asked = shop.machine.run("resume", FEATURE, *shop.yes())
    assert (asked.returncode, list(traces.iterdir())) == (3, []), "the blocker asks as well"
    assert shop.yes() == ()
    shop.machine.ok("resume", FEATURE, "--choose", "C", "--instructions", "say take the blue one")
    assert sorted(path.name for path in traces.iterdir()) == ["check-one", "lint-one", "prompt-one"]


def test_a_yes_to_something_else_is_no_yes(shop: Shop) -> None:
    put_orders(shop)
    before = shop.yes()
    traces = put_orders(shop, label="two")
    for yes in (before, ("--trust", ""), ("--trust", shop.yes()[1][:4])):
        assert shop.machine.run("resume", FEATURE, *yes).returncode == 3
    assert list(traces.iterdir()) == []


def test_an_agent_cannot_say_yes(shop: Shop) -> None:
    traces = put_orders(shop)
    yes = shop.yes()
    done = shop.machine.run("resume", FEATURE, *yes, REKINDLE_STAMP="x")
    assert done.returncode != 0
    assert list(traces.iterdir()) == []


def test_what_the_user_tracks_by_hand_is_the_users(shop: Shop) -> None:
    plan = {"tasks": [{"id": "a", "prompt": "write a.txt a", "agent": "scripted"}], "waves": [], "dependencies": []}
    here = ("--feature", FEATURE)
    shop.machine.ok("track", "session.start", *here)
    shop.machine.ok("track", "plan.created", "--data", json.dumps(plan), *here)
    shop.machine.ok("checkpoint", "begin", "--next", "wave-1-start", *here)
    shop.machine.ok("resume", FEATURE)
    assert shop.git("show", f"feature/{FEATURE}:a.txt") == "a"


def test_a_plan_that_an_agent_tracks_needs_a_yes(shop: Shop) -> None:
    here = ("--feature", FEATURE)
    plan = json.dumps({"tasks": [{"id": "a", "prompt": "write a.txt a", "agent": "scripted"}]})
    shop.machine.ok("track", "session.start", *here)
    shop.machine.ok("track", "plan.created", "--data", plan, *here, REKINDLE_STAMP="an agent's")
    shop.machine.ok("checkpoint", "begin", "--next", "wave-1-start", *here)
    assert shop.machine.run("resume", FEATURE).returncode == 3
    assert "skipped" in shop.machine.ok("resume", "--all")


def test_a_run_of_ours_that_was_cut_needs_no_yes(shop: Shop) -> None:
    wait = "run sh -c 'test -e ../../../go || sleep 60'"
    shop.machine.ok("run", "--plan", shop.plan(task("a", wait, "write a.txt a")), "--detach")
    until(lambda: "sleep 60" in shop.said("a"), "the agent at work")
    shop.kill_everything()
    (shop.root / "go").write_text("")
    assert shop.yes() == ()
    told = shop.machine.ok("resume", "--all")
    assert "goes on with run" in told and "Nothing was brought back" not in told
    until(lambda: shop.events("session.end"), "the end of the run")
