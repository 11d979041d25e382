"""Whoever meddles with a feature, and whatever is killed: it ends as the undisturbed one, or it says why not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from tests.crash.feature_campaign import ANYTIME, Campaign, scheme
from tests.crash.feature_campaign import undisturbed as undisturbed_plan
from tests.crash.feature_verdict import Allows, Outcome, faults
from tests.crash.feature_yard import Yard, a_yard
from tests.crash.fixed_plan import disturb, have, undisturbed
from tests.crash.meddling import Habit, Meddling
from tests.crash.meddling_agents import HABITS
from tests.crash.meddling_branches import BRANCHES
from tests.crash.meddling_places import PLACES
from tests.crash.meddling_runs import RUNS
from tests.patience import FACTOR
from tests.soaking import SOAK, only_in_soak

#: In `make test` one worker has them all: the undisturbed run is then made once.
pytestmark = [pytest.mark.timeout(600 * FACTOR), *([] if SOAK else [pytest.mark.xdist_group("feature campaign")])]
MEDDLINGS = (*BRANCHES, *PLACES, *RUNS)
SEEDS = only_in_soak(*range(60)) if SOAK else [2]
#: What `make test` has of the list; `make soak` has all of it.
SHARE = (
    "its reviewer dies once",
    "commits on a detached HEAD and comes back, which is taken",
    "the feature is reset by one merge",
    "a commit on a branch that has passed",
    "a worktree loses its .git while it works",
    "the store is deleted",
)

control = cache(undisturbed)


def share(entries: Sequence[Meddling | Habit]) -> list[Any]:
    """The entries of this run, each with its name; in soak what can be undone is tried both ways."""
    found = []
    for one in entries if SOAK else [one for one in entries if one.name in SHARE]:
        marks = [pytest.mark.soak] if SOAK else []
        name = one.name.replace(" ", "-")
        if isinstance(one, Habit):
            found.append(pytest.param(one, marks=marks, id=name))
            continue
        found.append(pytest.param(one, False, marks=marks, id=name))
        if SOAK and one.undo is not None:
            found.append(pytest.param(one, True, marks=marks, id=f"{name}-and-undone"))
    return found


def the_story(yard: Yard) -> list[str]:
    return ["", "the story:", *yard.story, "", "what there is:", yard.state()]


def judge(yard: Yard, expected: Outcome, allows: Allows) -> None:
    found = faults(yard, expected, allows)
    assert not found, "\n".join(["", *found, *the_story(yard)])


@pytest.mark.parametrize(("entry", "undo"), share(MEDDLINGS))
def test_a_feature_that_somebody_meddles_with_ends_as_if_not_or_says_why(entry: Meddling, undo: bool) -> None:
    expected = control()
    with a_yard() as yard:
        judge(yard, expected, disturb(yard, entry, undo=undo))


@pytest.mark.parametrize("habit", share(HABITS))
def test_a_feature_whose_agents_do_more_than_they_were_asked_ends_as_if_not_or_says_why(habit: Habit) -> None:
    expected = control()
    with a_yard() as yard:
        judge(yard, expected, have(yard, habit))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_plan_that_is_killed_and_meddled_with_ends_as_if_not_or_says_why(seed: int) -> None:
    plan = scheme(random.Random(seed))
    with a_yard() as quiet:
        expected = undisturbed_plan(quiet, plan)
    with a_yard() as yard:
        plan.write(yard)
        campaign = Campaign(yard, plan, random.Random(f"{seed} disturbed"), ANYTIME)
        campaign.run()
        campaign.settle(expected)
        found = campaign.faults(expected)
        assert not found, "\n".join([f"seed {seed}: {plan}", *found, *the_story(yard)])


def test_the_list_has_every_name_once_and_the_share_is_on_it() -> None:
    names = [one.name for one in MEDDLINGS] + [one.name for one in HABITS]
    assert len(names) == len(set(names)) >= 40
    assert {*SHARE} <= set(names)
