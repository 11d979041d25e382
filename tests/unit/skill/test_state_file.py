"""The state file: every field has its meaning, unknown ones survive, and what is damaged or newer is not touched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rekindle.core.skill.dehydration import BadContext, context_of
from rekindle.core.skill.lifecycle import (
    begun,
    closed,
    continued,
    dehydrated,
    idled,
    proved,
    switched,
    turn_finished,
    why_not_dehydrate,
)
from rekindle.core.skill.state import LIFECYCLES, BadState, SkillQuestion, SkillResume, document, encode, parse
from tests.skills import AT, claimant, skill, state_at

FIELDS = (
    "pid lastKnownPid sessionId paneId skill lifecycle loading overflowed contextUsage dehydratedContext currentPhase"
    " phases phaseHistory completedSkills nextSkills startedAt lastHeartbeat toolCallsSinceLastLog"
)


def made(**fields: Any) -> bytes:
    return json.dumps({"skill": "build", **fields}).encode()


def test_all_fields_are_written() -> None:
    assert set(FIELDS.split()) <= set(document(begun(skill(), claimant(), {})))


def test_what_is_written_is_read_back_the_same() -> None:
    state = state_at("4.2")
    assert parse(encode(state), "x") == state


def test_unknown_fields_survive_a_rewrite() -> None:
    state = parse(made(flavour={"deep": [1, None]}, others=3), "x")
    after = document(continued(state, claimant()))
    assert (after["flavour"], after["others"]) == ({"deep": [1, None]}, 3)
    after = document(switched(state, skill(), claimant()))
    assert after["flavour"] == {"deep": [1, None]}


def test_no_lifecycle_counts_as_active() -> None:
    assert parse(made(), "x").lifecycle == "active"
    assert parse(made(lifecycle=None), "x").lifecycle == "active"


@pytest.mark.parametrize("lifecycle", LIFECYCLES)
def test_every_lifecycle_is_known(lifecycle: str) -> None:
    assert parse(made(lifecycle=lifecycle), "x").lifecycle == lifecycle


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"skill": "bu',
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        made(lifecycle="flying"),
        made(pid="seven"),
        made(contextUsage=76),
        made(phases=["nonsense"]),
        b'{"contextUsage": NaN}',
    ],
)
def test_a_file_that_is_torn_or_wrong_is_refused_with_its_place(content: bytes) -> None:
    with pytest.raises(BadState) as refused:
        parse(content, "sessions/a/.state.json")
    assert "sessions/a/.state.json" in refused.value.message
    assert refused.value.hint
    assert not refused.value.is_newer


def test_a_file_of_a_newer_version_is_refused_as_that() -> None:
    with pytest.raises(BadState) as refused:
        parse(made(version=2, lifecycle="new kind"), "x")
    assert refused.value.is_newer


def test_the_last_item_of_the_history_is_the_phase_entered_and_the_one_before_it_the_last_completed() -> None:
    state = state_at("4.3")
    assert (state.history[-1], state.last_completed) == ("4.3: Pipeline", "4.2: Debrief")
    foreign = parse(made(phaseHistory=[{"label": "1", "name": "A"}, {"phase": "2: B"}, 7]), "x")
    assert foreign.history == ["1: A", "2: B"]


def test_a_session_that_came_back_from_a_restart_is_not_dehydrated_again_before_a_turn_has_finished() -> None:
    """Else a summary that is itself too long would be summed up for ever."""
    back = continued(dehydrated(state_at("1"), context_of({"summary": "half"}), AT), claimant(200))
    fast = proved(back, SkillResume(AT, "Continue", {"resumePath": "fast"}))
    assert "no turn has finished since" in (why_not_dehydrate(fast) or "")
    assert why_not_dehydrate(turn_finished(fast)) is None
    slow = proved(back, SkillResume(AT, "Resume", {"resumePath": "slow"}))
    assert why_not_dehydrate(slow) is None, "its conversation is not the one that the summary began"


def test_an_agent_cannot_say_that_its_summary_is_rekindles() -> None:
    assert context_of({"summary": "half", "madeBy": "rekindle"}).made_by == "agent"


def test_continuing_clears_loading_and_counters_and_keeps_the_phase() -> None:
    before = state_at("4.2", tool_calls_since_last_log=9, context_usage=0.8, overflowed=True, lifecycle="restarting")
    after = continued(before, claimant(pid=7))
    assert (after.loading, after.tool_calls_since_last_log, after.overflowed, after.context_usage) == (
        False,
        0,
        False,
        0,
    )
    assert (after.current_phase, after.lifecycle, after.pid) == ("4.2: Debrief", "active", 7)
    assert (after.last_known_pid, after.phases, after.parameters) == (100, before.phases, before.parameters)


def test_an_idle_and_a_closed_session_are_held_by_nobody() -> None:
    for after in (idled(state_at("3"), "t"), closed(state_at("3"), "t")):
        assert (after.pid, after.owner, after.last_known_pid) == (None, None, 100)
    assert closed(state_at("4.4"), "t").completed_skills == ["build"]
    assert closed(state_at("3"), "t", abandoned="no time").completed_skills == []


def test_dehydrated_context_has_a_summary_and_at_most_eight_files() -> None:
    assert context_of({"summary": "s", "nextSteps": ["a"]}).next_steps == ["a"]
    wrong: list[Any] = [{}, {"summary": " "}, {"summary": "s", "requiredFiles": ["f"] * 9}, [], {"summary": 3}]
    for bad in wrong:
        with pytest.raises(BadContext):
            context_of(bad)


def test_notes_of_an_overflow_end_the_question_how_to_resume_and_no_other() -> None:
    context = context_of({"summary": "the goal"})
    for kind, stays in (("resume", False), ("gate", True), ("approval", True)):
        asked = SkillQuestion("q1", kind, "?", [("x", "X", "choice")], 1.0)  # type: ignore[arg-type]
        after = dehydrated(state_at("1", question=asked), context, "2026-01-01T00:00:00.000Z")
        assert (after.question is not None, after.lifecycle) == (stays, "restarting")


@pytest.mark.parametrize("key", ["log", "plan", "debrief"])
@pytest.mark.parametrize(
    "name", ["../../.profile", "/home/me/.profile", "a/b.md", ".state.json", "..", "a\nb", "x" * 300]
)
def test_files_that_a_state_file_names_are_in_the_sessions_own_folder(key: str, name: str) -> None:
    """A state file comes with a repository, and what it names is written to."""
    with pytest.raises(BadState, match=f"rules.{key}"):
        parse(made(rules={key: name}), "x")
    assert parse(made(rules={key: "NOTES.md"}), "x")


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_a_number_that_cannot_be_written_again_is_damage(number: str) -> None:
    """Otherwise the next change would turn the file into one that nobody can read."""
    with pytest.raises(BadState, match="damaged"):
        parse(made()[:-1] + f', "mine": [{number}]}}'.encode(), "x")


def test_a_state_that_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode(state_at("4.2", parameters={"x": float("inf")}))
