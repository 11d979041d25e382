"""`journal verify` knows what `analyze` passes over: each broken rule with its line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import fold
from rekindle.core.journal.rules import problems
from tests.journals import SIDS, any_lines, interrupted_in_wave_two, line, resumed_and_cut_again

A, B = SIDS[:2]
Step = tuple[str, dict[str, Any]]


def run(*steps: Step, sid: str = A) -> list[bytes]:
    return [line(type_, sid, seq, **data) for seq, (type_, data) in enumerate(steps)]


START: Step = ("session.start", {"command": "implement"})
END: Step = ("session.end", {"reason": "completed"})


def found(*lines: bytes) -> list[tuple[int, str]]:
    return [(one.line, one.rule) for one in problems(map(decode_line, lines))]


def test_the_worked_example_breaks_no_rule() -> None:
    assert found(*interrupted_in_wave_two()) == []
    assert found(*interrupted_in_wave_two(), *resumed_and_cut_again()) == []


def test_work_that_is_tracked_by_hand_breaks_no_rule() -> None:
    assert found(*run(START, ("task.started", {"taskId": "1"}), ("task.completed", {"taskId": "1"}), END)) == []


@pytest.mark.parametrize("type_", ["agent.completed", "receipt.written", "session.end"])
def test_an_event_behind_the_end_of_its_run(type_: str) -> None:
    assert found(*run(START, END, (type_, {"name": "x"}))) == [(3, "after_end")]


def test_an_event_without_a_run_that_would_have_a_say() -> None:
    assert found(*run(START, END), line("agent.completed", None, None, name="x")) == [(3, "no_run")]


def test_what_only_describes_may_stand_outside_of_runs() -> None:
    assert found(line("tool.invoked", None, None), line("outside.agent.spawned", "s1", 0, name="x")) == []


def test_events_of_a_run_that_never_began() -> None:
    assert found(*run(START), line("branch.merged", B, 0, name="work/f/1")) == [(2, "unknown_run")]
    assert found(*run(("session.start", {"command": "resume", "resumes": B}))) == [(1, "unknown_run")]


def test_gaps_and_doubles() -> None:
    assert found(line("session.start", A, 0), line("task.started", A, 3, taskId="1")) == [(2, "gap")]
    assert found(line("session.start", A, 0), line("session.start", A, 0)) == [(1, "double")]


def test_a_run_that_begins_twice() -> None:
    assert found(*run(START, START)) == [(2, "begun_twice")]


def test_an_agent_that_never_completed_although_the_run_ended() -> None:
    spawned: Step = ("agent.spawned", {"name": "x"})
    assert found(*run(START, spawned, END)) == [(2, "agent_active")]
    assert found(*run(START, spawned)) == []
    resumed = [line("session.start", B, 0, command="resume", resumes=A), line("session.end", B, 1, reason="error")]
    assert found(*run(START, spawned), *resumed) == [(2, "agent_active")]


def test_a_task_that_completed_without_a_merge() -> None:
    work: list[Step] = [("branch.created", {"name": "work/f/1", "taskId": "1"}), ("task.completed", {"taskId": "1"})]
    merged: Step = ("branch.merged", {"name": "work/f/1", "taskId": "1"})
    assert found(*run(START, *work, END)) == [(3, "not_merged")]
    assert found(*run(START, *work, merged, END)) == []
    assert found(*run(START, *work)) == []


@given(lines=any_lines())
def test_verify_and_analyze_go_by_the_same_rules(lines: list[bytes]) -> None:
    state = fold(map(decode_line, lines))
    rules = [one.rule for one in problems(map(decode_line, lines))]
    assert rules.count("double") == state.duplicates
    assert rules.count("gap") == sum(len(run.work.gaps) for run in state.sids.values())
