"""A feature whose every process is killed at random moments is finished as if nothing had happened."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine
from tests.e2e.features import Shop

pytestmark = [pytest.mark.timeout(280)]
PLAN = Path(__file__).parents[2] / "demo" / "plan.toml"
#: What an undisturbed run makes, by the plan alone: each task is merged once, in this order.
HISTORY = [
    "Merge task cart: Cart model",
    "Merge task catalog: Catalog",
    "Merge task payment: Payment form",
    "Merge task shipping: Shipping costs",
    "Merge task receipt: Receipt page",
]
TREE = {
    "cart.py": "cart = []",
    "catalog.py": "catalog = {}",
    "payment.py": "def pay(): ...",
    "payment_test.py": "import payment",
    "readme.txt": "hello",
    "receipt.py": "from payment import pay\nfrom shipping import costs",
    "shipping.py": "costs = 0",
}
SOAK = os.environ.get("REKINDLE_TEST_PROFILE") == "soak"
SEEDS = range(200) if SOAK else range(12)


@contextmanager
def a_shop() -> Iterator[Shop]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        machine = Machine(Path(folder, "home"), Path(folder, "work"))
        machine.home.mkdir()
        machine.work.mkdir()
        shop = Shop(machine, "checkout").make()
        yield shop
        machine.clean_up()
        assert machine.stamped() == []


def words(shop: Shop) -> list[str]:
    """The command that goes on, whatever there is: a run without its plan or its checkpoint starts over."""
    types = {event["type"] for event in shop.events()}
    if not types:
        return ["run", "--plan", str(PLAN)]
    if "plan.created" not in types:
        return ["resume", "checkout", "--choose", "B", "--plan", str(PLAN)]
    return ["resume", "checkout", "--choose", "A"]


def is_over(shop: Shop) -> bool:
    ends = shop.events("session.end")
    return bool(ends) and ends[-1]["data"]["reason"] == "completed"


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.soak) if seed > 11 else seed for seed in SEEDS])
def test_a_feature_that_is_killed_at_random_moments_is_finished_as_if_nothing_had_happened(seed: int) -> None:
    chance = random.Random(seed)
    with a_shop() as shop:
        before = shop.checkout()
        kills = 0
        for _ in range(chance.randint(1, 3)):
            running = shop.start(*words(shop))
            time.sleep(chance.uniform(0.5, 12.0))  # the moment itself is what is tried out
            shop.kill_everything()
            running.communicate(timeout=60)
            kills += 1
            if is_over(shop):
                break
        if not is_over(shop):
            done = shop.machine.run(*words(shop))
            assert done.returncode == 0, done.stdout + done.stderr
        assert [subject for subject, _ in shop.history()] == HISTORY
        files = shop.git("ls-tree", "-r", "--name-only", "feature/checkout").split()
        assert {name: shop.git("show", f"feature/checkout:{name}") for name in files} == TREE
        assert all(number <= 1 + kills for number in shop.count("task.started").values())
        assert shop.checkout() == before
        assert shop.git("worktree", "list").count("\n") == 0
        assert shop.git("branch", "--list", "work/*") == ""
        for row in shop.machine.json("ps", "--all")["sessions"]:
            session = shop.machine.show(row["id"])["session"]
            assert len(session["attempts"]) <= 1 + kills
            said = {prompt["attempt"] for prompt in session["prompts"]}
            for attempt in session["attempts"][1:]:
                goes_on = attempt["number"] in said and any(0 < number < attempt["number"] for number in said)
                assert attempt["receipt"] is not None or not goes_on, "a repetition is named"
