"""The worked example of the resume protocol, and what becomes of it when the resume is cut too."""

from __future__ import annotations

from typing import Any

from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.document import document
from rekindle.core.journal.fold import fold
from tests.journals import interrupted_in_wave_two, line, resumed_and_cut_again


def told(*lines: bytes) -> dict[str, Any]:
    return document(analyse(fold(map(decode_line, lines))))


def test_the_worked_example_gives_exactly_its_analysis() -> None:
    found = told(*interrupted_in_wave_two())
    assert found["interrupted"]
    assert found["sid"] == "f4e3d2c1"
    assert (found["events"], found["gaps"]) == (11, [])
    assert found["checkpoint"] == {
        "sid": "f4e3d2c1",
        "seq": 7,
        "label": "wave-1-complete",
        "branch": "feature/auth-system",
        "plan_step": "wave-2-start",
    }
    assert found["tasks"] == {"1": "COMPLETE", "2": "IN_PROGRESS"}
    assert found["active_agents"] == ["service-eng"]
    assert found["issues"] == []
    assert [issue["seq"] for issue in found["resolved_issues"]] == [10]
    assert found["decision"] == {"case": "A", "next_step": "wave-2-start", "restart_tasks": ["2"]}


def test_a_resume_that_is_cut_still_knows_the_plan_and_the_finished_task() -> None:
    found = told(*interrupted_in_wave_two(), *resumed_and_cut_again())
    assert found["sid"] == "b5a4c3d2"
    assert found["interrupted_sids"] == ["b5a4c3d2"]
    assert found["lineage"] == ["f4e3d2c1", "b5a4c3d2"]
    assert found["tasks"] == {"1": "COMPLETE", "2": "IN_PROGRESS"}
    assert [task["id"] for task in found["plan"]["tasks"]] == ["1", "2"]
    assert found["checkpoint"]["sid"] == "f4e3d2c1"
    assert found["decision"]["case"] == "A"


def test_an_unresolved_error_after_the_checkpoint_asks_a_question() -> None:
    lines = [*interrupted_in_wave_two(), line("error.encountered", "f4e3d2c1", 11, error="boom", resolved=False)]
    found = told(*lines)
    assert found["decision"]["case"] == "B"
    assert [option["key"] for option in found["options"]] == ["A", "B", "C"]


def test_a_decided_issue_is_not_asked_again() -> None:
    lines = [
        *interrupted_in_wave_two(),
        line("error.encountered", "f4e3d2c1", 11, error="boom"),
        line("session.start", "b5a4c3d2", 0, command="resume"),
        line("resume.decided", "b5a4c3d2", 1, choice="A", issues=[{"sid": "f4e3d2c1", "seq": 11}], tasks=["2"]),
    ]
    found = told(*lines)
    assert found["decision"]["case"] == "A"
    assert [issue["message"] for issue in found["resolved_issues"]][-1] == "boom"


def test_without_a_checkpoint_the_case_is_c_whatever_else_happened() -> None:
    found = told(
        line("session.start"), line("task.started", seq=1, taskId="1"), line("error.encountered", seq=2, error="x")
    )
    assert found["decision"]["case"] == "C"
    assert len(found["issues"]) == 1


def test_a_checkpoint_that_is_not_resumable_is_none() -> None:
    found = told(line("session.start"), line("checkpoint", seq=1, label="x", resumable=False))
    assert found["checkpoint"] is None


def test_a_later_line_overrides_an_earlier_one_with_its_number() -> None:
    found = told(
        line("session.start"),
        line("task.failed", seq=1, taskId="1", error="x"),
        line("task.completed", seq=1, taskId="1"),
    )
    assert (found["duplicates"], found["tasks"]) == (1, {"1": "COMPLETE"})


def test_a_gap_is_noted_and_stops_nothing() -> None:
    found = told(line("session.start", seq=1), line("task.started", seq=4, taskId="1"))
    assert [gap["missing_count"] for gap in found["gaps"]] == [1, 2]
    assert found["interrupted"]


def test_a_restarted_run_is_superseded_and_its_state_is_left_behind() -> None:
    found = told(
        *interrupted_in_wave_two(), line("session.start", "b5a4c3d2", 0, command="implement", restarts="f4e3d2c1")
    )
    assert found["lineage"] == ["b5a4c3d2"]
    assert (found["tasks"], found["interrupted_sids"]) == ({}, ["b5a4c3d2"])


def test_an_event_without_sid_belongs_to_the_run_that_is_open() -> None:
    found = told(
        line("session.start"),
        line("task.failed", None, None, taskId="1", error="late"),
        line("session.end", None, None, reason="error"),
        line("task.completed", None, None, taskId="1"),
    )
    assert (found["events"], found["tasks"], found["interrupted"]) == (3, {"1": "FAILED"}, False)


def test_a_hook_that_made_up_its_sid_is_a_stray() -> None:
    found = told(line("session.start"), line("tool.invoked", "deadbeef", 0, tool="Bash"))
    assert found["strays"] == ["deadbeef"]
    assert found["sid"] == "aaaa0001"


def test_a_live_owner_makes_a_run_not_interrupted() -> None:
    state = fold(map(decode_line, interrupted_in_wave_two()))
    assert not analyse(state, owned=frozenset({"f4e3d2c1"})).is_interrupted
