"""The state file: every field has its meaning, unknown ones survive, and what is damaged or newer is not touched."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rekindle.core.skill.lifecycle import begun, closed, continued, idled, switched
from rekindle.core.skill.state import LIFECYCLES, BadState, dehydrated_of, document, encode, parse
from tests.skills import claimant, skill, state_at

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
    assert dehydrated_of({"summary": "s", "nextSteps": ["a"]}).next_steps == ["a"]
    wrong: list[Any] = [{}, {"summary": " "}, {"summary": "s", "requiredFiles": ["f"] * 9}, [], {"summary": 3}]
    for bad in wrong:
        with pytest.raises(BadState):
            dehydrated_of(bad)
