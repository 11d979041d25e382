"""Whoever meddles with a feature, and whatever is killed: it ends as the undisturbed one, or it says why not."""

from __future__ import annotations

import os
import random
from functools import cache

import pytest

from tests.crash.feature_campaign import Campaign, scheme
from tests.crash.feature_campaign import undisturbed as undisturbed_plan
from tests.crash.feature_verdict import Allows, Outcome, faults
from tests.crash.feature_yard import Yard, a_yard
from tests.crash.fixed_plan import disturb, have, undisturbed
from tests.crash.meddling import Habit, Meddling
from tests.crash.meddling_agents import HABITS
from tests.crash.meddling_branches import BRANCHES
from tests.crash.meddling_places import PLACES
from tests.crash.meddling_runs import RUNS

pytestmark = [pytest.mark.timeout(600)]
SOAK = os.environ.get("REKINDLE_TEST_PROFILE") == "soak"
MEDDLINGS = (*BRANCHES, *PLACES, *RUNS)

SEEDS = range(60) if SOAK else range(3)

control = cache(undisturbed)


def the_story(yard: Yard) -> list[str]:
    return ["", "the story:", *yard.story, "", "what there is:", yard.state()]


def judge(yard: Yard, expected: Outcome, allows: Allows) -> None:
    found = faults(yard, expected, allows)
    assert not found, "\n".join(["", *found, *the_story(yard)])


@pytest.mark.parametrize("undo", [False, True], ids=["kept", "undone"])
@pytest.mark.parametrize("entry", MEDDLINGS, ids=lambda one: one.name.replace(" ", "-"))
def test_a_feature_that_somebody_meddles_with_ends_as_if_not_or_says_why(entry: Meddling, undo: bool) -> None:
    if undo and entry.undo is None:
        pytest.skip("it cannot be undone")
    expected = control()
    with a_yard() as yard:
        judge(yard, expected, disturb(yard, entry, undo=undo))


@pytest.mark.parametrize("habit", HABITS, ids=lambda one: one.name.replace(" ", "-"))
def test_a_feature_whose_agents_do_more_than_they_were_asked_ends_as_if_not_or_says_why(habit: Habit) -> None:
    expected = control()
    with a_yard() as yard:
        judge(yard, expected, have(yard, habit))


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.soak) if SOAK else seed for seed in SEEDS])
def test_a_random_plan_that_is_killed_and_meddled_with_ends_as_if_not_or_says_why(seed: int) -> None:
    plan = scheme(random.Random(seed))
    with a_yard() as quiet:
        expected = undisturbed_plan(quiet, plan)
    with a_yard() as yard:
        campaign = Campaign(yard, plan, random.Random(f"{seed} disturbed"))
        plan.write(yard)
        campaign.run()
        campaign.settle(expected)
        found = campaign.faults(expected)
        assert not found, "\n".join([f"seed {seed}: {plan}", *found, *the_story(yard)])
