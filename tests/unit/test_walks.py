"""A walk that goes another way than its milestones say is not let pass."""

from __future__ import annotations

from tests.walks.milestones import Milestone
from tests.walks.proof import problems

ASKED, SERVED = Milestone("rekindle run", "app.running.ask"), Milestone("daemon", "daemon.serve")


def told(*trace: str) -> list[str]:
    return list(problems([ASKED, SERVED], trace))


def test_other_functions_may_be_passed_between_milestones() -> None:
    assert told("rekindle run: entry.main", str(ASKED), "daemon: settings.load", str(SERVED), str(ASKED)) == []


def test_a_milestone_that_was_not_passed_is_named() -> None:
    assert told(str(ASKED)) == [f"not passed: {SERVED}"]


def test_a_milestone_in_another_process_was_not_passed() -> None:
    assert told(str(ASKED), "keeper: daemon.serve") == [f"not passed: {SERVED}"]


def test_the_first_call_counts() -> None:
    assert told(str(SERVED), str(ASKED), str(SERVED)) == [f"out of order: {SERVED} is passed before {ASKED}"]
