"""Questions that Claude Code puts to its user: how they come to the inbox, and how their answers go back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rekindle.agents.claude import permissions
from rekindle.core.session.permission import Ask, Deny, decide
from rekindle.core.skill.decision import for_question_tool


def request(*questions: dict[str, object]) -> dict[str, Any]:
    return {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": list(questions)}}


def answered(asked: dict[str, Any], option: str | None) -> dict[str, Any]:
    line = json.loads(permissions.answer(1, "r-1", asked, option).line)
    found: dict[str, Any] = line["response"]["response"]
    return found


def test_a_question_has_its_own_options_and_the_answer_is_the_label_of_one() -> None:
    asked = request(for_question_tool("How?")[0])
    shown = permissions.asked_of("r-1", asked)
    assert [one.option_id for one in shown.options] == ["choice-1", "choice-2", "choice-3", "choice-4", "deny"]
    assert shown.kind == "question" and "Redo the current phase cleanly" in shown.detail
    told = answered(asked, "choice-3")
    assert told["behavior"] == "allow"
    assert told["updatedInput"]["answers"] == {shown.title: "Switch skill [SWT]"}
    assert told["updatedInput"]["questions"] == asked["input"]["questions"]


def test_no_policy_answers_it() -> None:
    shown = permissions.asked_of("r-1", request(for_question_tool("How?")[0]))
    for mode in ("all", "edits", "ask"):
        assert isinstance(decide(mode, shown.kind, shown.paths, "/work", shown.options), Ask)
    assert isinstance(decide("deny", shown.kind, shown.paths, "/work", shown.options), Deny)


@pytest.mark.parametrize(
    "questions",
    [
        for_question_tool("How?"),
        [{**for_question_tool("How?")[0], "multiSelect": True}],
        [{"question": "", "options": [{"label": "a"}]}],
        [{"question": "How?", "options": [{"label": 7}]}],
        [],
    ],
)
def test_what_cannot_be_answered_with_one_option_is_never_answered_with_none(
    questions: list[dict[str, object]],
) -> None:
    asked = request(*questions)
    shown = permissions.asked_of("r-1", asked)
    assert [one.option_id for one in shown.options] == ["deny"]
    assert isinstance(decide("all", shown.kind, shown.paths, "/work", shown.options), Ask)
    assert "one question at a time" in answered(asked, "deny")["message"]
