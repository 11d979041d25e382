"""A feature whose every process is killed at random moments is finished as if nothing had happened."""

from __future__ import annotations

import contextlib
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.daemon import Machine
from tests.e2e.features import Shop
from tests.soaking import SOAK, only_in_soak

#: In `make test` one worker has them all: the undisturbed run is then made once.
pytestmark = [pytest.mark.timeout(280), *([] if SOAK else [pytest.mark.xdist_group("feature kills")])]
PLAN = Path(__file__).parents[2] / "demo" / "plan.toml"
#: In `make test`: one early kill, two in the middle, three with a late one; in `make soak` all.
SEEDS = (2, 9, 10)
MORE_SEEDS = (seed for seed in range(200) if seed not in SEEDS)


@contextmanager
def a_shop() -> Iterator[Shop]:
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        machine = Machine(Path(folder, "home"), Path(folder, "work"))
        machine.home.mkdir()
        machine.work.mkdir()
        shop = Shop(machine, "checkout").make()
        try:
            yield shop
            machine.clean_up()
        except BaseException:
            shop.kill_everything()
            raise
        assert machine.stamped() == []


@dataclass(frozen=True)
class Outcome:
    """What a run leaves behind: the merges in their order, each with the tree that it made, and the events of them."""

    history: tuple[tuple[str, str], ...]
    tree: str
    merged: Counter[str]
    completed: Counter[str]


def outcome(shop: Shop) -> Outcome:
    tree = shop.git("rev-parse", "feature/checkout^{tree}")
    return Outcome(tuple(shop.history()), tree, shop.count("branch.merged"), shop.count("task.completed"))


@pytest.fixture(scope="module")
def undisturbed() -> Outcome:
    """The same plan without a kill, recorded once."""
    with a_shop() as shop:
        done = shop.machine.run("run", "--plan", str(PLAN))
        assert done.returncode == 0, done.stdout + done.stderr
        found = outcome(shop)
    assert len(found.history) == 5 and set(found.merged.values()) == set(found.completed.values()) == {1}
    return found


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


@pytest.mark.parametrize("seed", [*SEEDS, *only_in_soak(*MORE_SEEDS)])
def test_a_feature_that_is_killed_at_random_moments_is_finished_as_if_nothing_had_happened(
    seed: int, undisturbed: Outcome
) -> None:
    chance = random.Random(seed)
    with a_shop() as shop:
        before = shop.checkout()
        kills = 0
        for _ in range(chance.randint(1, 3)):
            running = shop.start(*words(shop))
            moment = chance.uniform(0.5, 12.0)
            with contextlib.suppress(subprocess.TimeoutExpired):  # the moment itself is what is tried out
                running.wait(timeout=moment)
            shop.kill_everything(running)
            said, _ = running.communicate(timeout=60)
            last = [(event["type"], event["data"]) for event in shop.events()[-4:]]
            print(f"killed after {moment:.2f} s; the last events: {last}; the command said: {said[-500:]}")
            kills += 1
            if is_over(shop):
                break
        if not is_over(shop):
            done = shop.machine.run(*words(shop))
            assert done.returncode == 0, done.stdout + done.stderr
        assert outcome(shop) == undisturbed
        assert all(number <= 1 + kills for number in shop.count("task.started").values())
        assert shop.checkout() == before
        assert shop.git("worktree", "list").count("\n") == 0
        assert shop.git("branch", "--list", "work/*") == ""
        for row in shop.machine.json("ps", "--all")["sessions"]:
            session = shop.machine.show(row["id"])["session"]
            assert len(session["attempts"]) <= 1 + kills
            spoken = {prompt["attempt"] for prompt in session["prompts"]}
            for attempt in session["attempts"][1:]:
                goes_on = attempt["number"] in spoken and any(0 < number < attempt["number"] for number in spoken)
                assert attempt["receipt"] is not None or not goes_on, "a repetition is named"
