"""The slow path's evidence: what the artifacts prove against what the state file claims."""

from __future__ import annotations

import pytest

from rekindle.core.skill.artifacts import PLAN_MOST, Artifacts, PlanSteps, entries_of, steps_of
from rekindle.core.skill.progress import derive
from rekindle.core.skill.topics import compare
from tests.skills import state_at

LOG = "# Log\n\n## Begin\n* a\n\n## Decided on SQLite\n*   **Why**: small\n\n## Block: no key\nwaiting\n"
PLAN = "# Plan\n- [x] Step one\n- [X] Step two\n* [ ] Step three\n1. [ ] Step four\n- not a step\n"


def test_the_last_entries_of_a_log_and_the_ticked_steps_of_a_plan() -> None:
    assert [one.title for one in entries_of(LOG)] == ["Log", "Begin", "Decided on SQLite", "Block: no key"]
    assert entries_of("plain\nlines")[-1].title == "lines"
    steps = steps_of(PLAN)
    assert (steps.ticked, steps.total, steps.open) == (2, 4, ("Step three", "Step four"))


def test_a_debrief_proves_only_its_sub_phase() -> None:
    found = derive(state_at("4.2"), Artifacts(plan=PlanSteps(3, 3), debrief=True))
    assert found.agreement == "done"
    assert found.at == "4.3: Pipeline"
    assert "4.4: Close" in found.left
    assert found.done[-1] == "4.2: Debrief"


def test_a_saved_phase_behind_the_artifacts_is_stale() -> None:
    found = derive(state_at("2"), Artifacts(plan=PlanSteps(3, 3), debrief=True))
    assert (found.agreement, found.at, found.claimed) == ("stale", "4.3: Pipeline", "2: Planning")


def test_a_saved_phase_that_the_artifacts_do_not_support_is_ahead() -> None:
    found = derive(state_at("4.1"), Artifacts(plan=PlanSteps(1, 3, ("two", "three"))))
    assert (found.agreement, found.at) == ("ahead", "3: Build")
    assert "2 of 3 steps of the plan are left" in found.left
    assert "next step: two" in found.left
    assert derive(state_at("4.1"), Artifacts()).at == "2: Planning"


def test_where_both_agree_the_saved_phase_stands() -> None:
    found = derive(state_at("3"), Artifacts(plan=PlanSteps(1, 3, ("two",))))
    assert (found.agreement, found.at) == ("same", "3: Build")
    assert derive(state_at("0"), Artifacts()).agreement == "same"


def test_a_half_written_plan_does_not_end_the_planning() -> None:
    assert derive(state_at("2"), Artifacts(plan=PlanSteps(0, 3))).agreement == "same"


def test_the_last_completed_sub_phase_comes_from_the_history() -> None:
    assert derive(state_at("4.3"), Artifacts(debrief=True)).last_completed == "4.2: Debrief"


def test_the_same_topic_is_told_by_folder_and_log_with_the_words_that_both_have() -> None:
    same = compare("2026-01-01_LOGIN_FORM", "", "2026-01-03_LOGIN_FORM_AGAIN", "")
    assert same is not None
    assert same.by_name == ("form", "login")
    assert "form, login" in same.why
    assert compare("2026-01-01_LOGIN_FORM", "", "2026-01-03_PAYMENTS", "") is None
    by_log = compare("one", "## Tokenizer rewrite\n## Grammar tables\n", "two", "## Grammar tables for the tokenizer\n")
    assert by_log is not None
    assert by_log.by_log == ("grammar", "tables", "tokenizer")


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["\n" * PLAN_MOST, "\n " * (PLAN_MOST // 2), "# " + " " * PLAN_MOST, "- [ ]\t" * 40_000]
)
def test_a_plan_or_a_log_of_nothing_but_space_is_read_in_one_pass(text: str) -> None:
    """Both come with a repository."""
    assert steps_of(text).total in (0, 1)
    assert len(entries_of(text)) <= 1


def test_a_heading_has_no_space_around_it_and_a_box_may_be_indented() -> None:
    assert [one.title for one in entries_of("##  Found it \t\n\nthe cause\n")] == ["Found it"]
    assert steps_of("  - [x] one\n\t* [ ] two\n1. [X] three\n") == PlanSteps(2, 3, ("two",))
