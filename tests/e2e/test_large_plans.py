"""Plans that do not fit into one event: begun, explained, and refused before anything is written."""

from __future__ import annotations

import pytest

from tests.e2e.daemon import until
from tests.e2e.features import FEATURE, Shop, task

pytestmark = pytest.mark.timeout(280)


def test_a_plan_too_long_for_one_event_is_written_in_parts_and_known_again(shop: Shop) -> None:
    names = [f"t{number}" for number in range(700)]
    long = "# " + "x" * 500
    first = task(names[0], "run sleep 60")
    plan = shop.plan(first, *(task(name, long, needs=[names[0]]) for name in names[1:]))
    shop.machine.ok("run", "--plan", plan, "--detach")
    until(lambda: shop.events("checkpoint"), "the beginning of the run")
    parts = shop.events("plan.created", "plan.updated")
    assert [one["type"] for one in parts] == ["plan.created", "plan.updated"]
    assert parts[1]["data"]["change"] == "task_added"
    assert [task["id"] for one in parts for task in one["data"]["tasks"]] == names
    shop.kill_everything()
    told = shop.machine.json("resume", FEATURE, "--explain")
    assert [row["name"] for row in told["tasks"]] == names
    assert [row["action"] for row in told["tasks"]].count("not begun") >= 699


def test_a_plan_with_a_task_too_long_for_the_journal_is_refused_before_anything_is_written(shop: Shop) -> None:
    plan = shop.plan(task("a"), task("b", "say " + "x" * (1 << 20)))
    done = shop.machine.run("run", "--plan", plan)
    assert done.returncode == 2
    assert "task 'b' takes" in done.stderr
    assert "put the long part of its prompt into a file" in done.stderr
    assert not shop.journal.exists()
    assert shop.git("branch", "--list", f"feature/{FEATURE}") == ""
