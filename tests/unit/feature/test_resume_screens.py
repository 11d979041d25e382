"""What a person reads when a feature is resumed."""

from __future__ import annotations

from typing import Any

from rekindle.doors.cli.feature_screens import onward, question

FOUND: dict[str, Any] = {
    "feature": "auth-system",
    "case": "A",
    "checkpoint": {"label": "wave-1-complete", "seq": 42},
    "next_step": "wave-2-start",
    "issues": [],
    "locks": [],
    "strays": [],
    "active_agents": [],
}


def test_a_resume_that_asks_nothing_says_why() -> None:
    assert list(onward(FOUND)) == [
        'Resume of feature "auth-system":',
        '  checkpoint "wave-1-complete" found',
        "  no open errors, blockers or failures after it",
        "  next step: wave-2-start",
        "  no input needed",
    ]


def test_the_question_after_a_checkpoint_has_issues_agents_and_options() -> None:
    place = {"type": "error.encountered", "task": None, "place": "src/api/service.ts:42", "message": "TypeError"}
    failed = {"type": "task.failed", "task": "2", "place": "", "message": "QA failed 3 rounds"}
    asked = {
        **FOUND,
        "case": "B",
        "issues": [
            {**place, "attempts": None, "resolved": False},
            {**failed, "attempts": 3, "resolved": False},
        ],
        "active_agents": ["service-eng (task 2, branch work/auth-system/api-service)"],
        "options": [{"key": "A", "title": "Fix and restart", "effect": "start over"}],
        "affected": ["2"],
    }
    assert list(question(asked)) == [
        'Resume analysis for feature "auth-system":',
        "==========================================",
        "",
        'Last checkpoint: "wave-1-complete" (seq 42)',
        "",
        "Issues found after the checkpoint:",
        "  1. [error.encountered] src/api/service.ts:42: TypeError (resolved: false)",
        "  2. [task.failed] task 2: QA failed 3 rounds (attempts: 3)",
        "",
        "Agents at work when it was interrupted:",
        "  - service-eng (task 2, branch work/auth-system/api-service)",
        "",
        "Options:",
        "  A. Fix and restart: start over",
        "  (affected: 2)",
        "",
    ]


EARLY: dict[str, Any] = {
    **FOUND,
    "case": "C",
    "checkpoint": None,
    "tasks": [
        {"name": "1", "action": "done", "why": ""},
        {"name": "2", "action": "start", "why": ""},
        {"name": "3", "action": "not begun", "why": ""},
    ],
    "states": {"1": "COMPLETE", "2": "IN_PROGRESS"},
    "options": [{"key": "A", "title": "Restart", "effect": "start over"}],
    "affected": [],
}


def test_the_question_without_a_checkpoint_counts_the_tasks_with_their_states_and_recommends_to_start_over() -> None:
    asked = list(question({**EARLY, "has_plan": True}))
    assert asked[2:12] == [
        "",
        "No checkpoint found: the run was interrupted early.",
        "",
        "State of the run:",
        "  - plan: yes",
        "  - tasks begun: 1 (2: IN_PROGRESS)",
        "  - tasks merged: 1",
        "",
        "Recommended: start over with the plan of the interrupted run (A).",
        "To see that plan: rekindle resume auth-system --explain",
    ]


def test_without_a_plan_nobody_is_sent_to_look_at_one() -> None:
    asked = list(question({**EARLY, "has_plan": False, "tasks": [], "states": {}}))
    assert "  - plan: no" in asked
    assert "Recommended: start over. The journal has no plan; give one: --choose B --plan FILE" in asked
    assert not any("To see that plan" in line or "with the plan" in line for line in asked)
