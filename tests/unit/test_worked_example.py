"""The worked example of the resume protocol, and what becomes of it when the resume is cut too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.document import document
from rekindle.core.journal.fold import fold
from tests.journals import interrupted_in_wave_two, line, resumed_and_cut_again


def told(*lines: bytes) -> dict[str, Any]:
    return document(analyse(fold(map(decode_line, lines))))


LINES = Path(__file__).parents[1] / "golden" / "journal"
INTERRUPTED = (LINES / "interrupted.jsonl").read_bytes().splitlines()
RESUMED = (LINES / "resumed.jsonl").read_bytes().splitlines()
SID, FEATURE = "f4e3d2c1", "auth-system"


def test_the_worked_example_gives_exactly_its_analysis() -> None:
    found = told(*INTERRUPTED)
    assert (found["feature"], found["sid"], found["interrupted"], found["interrupted_sids"]) == (
        *(FEATURE, SID, True, [SID]),
    )
    assert (found["lineage"], found["strays"], found["malformed"], found["duplicates"]) == ([SID], [], [], 0)
    [run] = found["runs"]
    assert (found["events"], run["first_seq"], run["last_seq"], found["gaps"]) == (11, 0, 10, [])
    assert (run["first_ts"], run["last_ts"]) == ("2026-02-14T10:00:00.000Z", "2026-02-14T10:08:00.000Z")
    assert (run["command"], run["branch"], run["mode"]) == ("implement", "feature/auth-system", "strict")
    assert (run["ended"], run["superseded"], run["interrupted"]) == (False, False, True)
    assert found["checkpoint"] == {
        "sid": SID,
        "seq": 7,
        "label": "wave-1-complete",
        "branch": "feature/auth-system",
        "plan_step": "wave-2-start",
    }
    assert found["tasks"] == {"1": "COMPLETE", "2": "IN_PROGRESS"}
    assert found["active_agents"] == ["service-eng"]
    assert (found["issues"], found["warnings"]) == ([], [])
    assert found["resolved_issues"] == [
        {
            "sid": SID,
            "seq": 10,
            "type": "error.encountered",
            "task": None,
            "message": "Import path not found: ../db/schema",
            "file": "src/api/service.ts",
            "line": 42,
            "attempts": 1,
        }
    ]
    assert found["decision"] == {"case": "A", "next_step": "wave-2-start", "restart_tasks": ["2"]}
    assert found["options"] == []


def test_the_worked_example_names_the_three_events_after_its_checkpoint() -> None:
    found = told(*INTERRUPTED)
    assert found["after_checkpoint"] == [
        {"sid": SID, "seq": 8, "type": "agent.spawned", "task": "2", "agent": "service-eng", "resolved": None},
        {"sid": SID, "seq": 9, "type": "task.started", "task": "2", "agent": "service-eng", "resolved": None},
        {"sid": SID, "seq": 10, "type": "error.encountered", "task": None, "agent": None, "resolved": True},
    ]
    assert found["after_checkpoint_count"] == 3


def test_the_worked_example_keeps_agents_files_plan_and_merge_of_its_tasks() -> None:
    found = told(*INTERRUPTED)
    assert found["task_details"] == {
        "1": {
            "status": "COMPLETE",
            "summary": "Design schema",
            "agent": "schema-designer",
            "files": ["src/db/schema.ts"],
            "files_changed": ["src/db/schema.ts", "src/db/migrations/001.ts"],
        },
        "2": {
            "status": "IN_PROGRESS",
            "summary": "Build API",
            "agent": "service-eng",
            "files": ["src/api/service.ts"],
        },
    }
    assert found["plan"] == {
        "tasks": [
            {"id": "1", "summary": "Design schema", "agent": "schema-designer"},
            {"id": "2", "summary": "Build API", "agent": "service-eng"},
        ],
        "waves": [{"wave": 1, "task_ids": ["1"]}, {"wave": 2, "task_ids": ["2"]}],
        "dependencies": [{"task_id": "2", "blocked_by": "1"}],
    }
    assert found["branches"] == {
        "work/auth-system/schema-design": {"task": "1", "merged": True},
        "work/auth-system/api-service": {"task": "2", "merged": False},
    }


@pytest.mark.parametrize(
    ("result", "active"), [("success", []), ("failed", []), ("terminated", []), (None, ["schema-designer"])]
)
def test_an_agent_is_active_until_it_completes_whatever_the_result(result: str | None, active: list[str]) -> None:
    completed = INTERRUPTED[5].replace(b'"success"', json.dumps(result).encode())
    lines = INTERRUPTED[:5] + ([completed] if result else [])
    assert told(*lines)["active_agents"] == active


def test_the_resumed_run_of_the_example_stands_in_the_same_file_and_goes_on_with_the_same_agent_task_and_branch() -> (
    None
):
    found = told(*INTERRUPTED, *RESUMED)
    first, second = found["runs"]
    assert (first["sid"], first["superseded"], first["interrupted"]) == (SID, True, False)
    assert (second["sid"], second["command"], second["first_seq"], second["last_seq"]) == ("b5a4c3d2", "resume", 0, 2)
    assert (first["events"], second["events"], found["gaps"]) == (11, 3, [])
    assert (found["sid"], found["interrupted_sids"]) == ("b5a4c3d2", ["b5a4c3d2"])
    assert found["tasks"] == {"1": "COMPLETE", "2": "IN_PROGRESS"}
    assert found["active_agents"] == ["service-eng"]
    assert [(one["sid"], one["seq"]) for one in found["after_checkpoint"]] == [
        *((SID, 8), (SID, 9), (SID, 10), ("b5a4c3d2", 0), ("b5a4c3d2", 1), ("b5a4c3d2", 2)),
    ]
    assert found["branches"]["work/auth-system/api-service"] == {"task": "2", "merged": False}
    assert found["decision"] == {"case": "A", "next_step": "wave-2-start", "restart_tasks": ["2"]}


def test_of_many_events_after_a_checkpoint_the_newest_are_kept_and_all_are_counted() -> None:
    many = [line("task.started", seq=seq, taskId=str(seq % 7)) for seq in range(2, 1002)]
    found = told(line("session.start"), line("checkpoint", seq=1, label="x"), *many)
    assert found["after_checkpoint_count"] == 1000
    assert [one["seq"] for one in found["after_checkpoint"]] == list(range(902, 1002))


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
