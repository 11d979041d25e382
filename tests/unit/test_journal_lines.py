"""Lines of a journal as they are typed here, and the verdict on each: what reads them is not asked what is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.adapters.journal_file.read import read_state
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.decode import Blank, Malformed, UnknownVersion, decode_line
from rekindle.core.journal.document import document
from rekindle.core.journal.event import Event

START = b'{"v":1,"sid":"a","seq":0,"type":"session.start"}'
LATER = b'{"v":1,"sid":"a","seq":5,"type":"warning.logged"}'
EVENT, BLANK, MALFORMED, UNKNOWN_VERSION = Event, Blank, Malformed, UnknownVersion

VERDICTS: list[tuple[bytes, type]] = [
    # one object in a line, with white space around it or not
    (b'{"type":"x"}', EVENT),
    (b' \t{"type":"x"} \t', EVENT),
    (b'{"type":"x"}\r', EVENT),
    (b'{"type":"x","sid":"b","seq":0}', EVENT),
    (b'{"type":"x"}{"type":"y"}', MALFORMED),
    (b'{"type":"x"} y', MALFORMED),
    # nothing
    (b"", BLANK),
    (b"   \t", BLANK),
    (b"\r", BLANK),
    # not JSON, or torn
    (b"garbage", MALFORMED),
    (b'{"type":"x"', MALFORMED),
    (b"{'type':'x'}", MALFORMED),
    (b"\0\0\0", MALFORMED),
    (b'{"type":"x",}', MALFORMED),
    # JSON, but not an object
    (b"[]", MALFORMED),
    (b"null", MALFORMED),
    (b"1", MALFORMED),
    (b'"x"', MALFORMED),
    (b"true", MALFORMED),
    # no text for a type
    (b"{}", MALFORMED),
    (b'{"type":null}', MALFORMED),
    (b'{"type":1}', MALFORMED),
    # a seq that is not a whole number of 0 or more; null counts as absent
    (b'{"type":"x","sid":"b","seq":-1}', MALFORMED),
    (b'{"type":"x","sid":"b","seq":1.0}', MALFORMED),
    (b'{"type":"x","sid":"b","seq":"3"}', MALFORMED),
    (b'{"type":"x","sid":"b","seq":true}', MALFORMED),
    (b'{"type":"x","sid":"b","seq":null}', EVENT),
    # versions: none counts as 1; what is malformed is only malformed
    (b'{"type":"x","v":1}', EVENT),
    (b'{"type":"x","v":2}', UNKNOWN_VERSION),
    (b'{"type":"x","v":0}', UNKNOWN_VERSION),
    (b'{"type":"x","v":"1"}', UNKNOWN_VERSION),
    (b'{"type":"x","v":1.0}', UNKNOWN_VERSION),
    (b'{"type":"x","v":true}', UNKNOWN_VERSION),
    (b'{"type":"x","v":null}', UNKNOWN_VERSION),
    (b'{"type":"x","v":2,"seq":-1}', MALFORMED),
    (b'{"v":2}', MALFORMED),
    # bytes that are not text, numbers that are not JSON
    (b'{"type":"x","y":"\xff"}', MALFORMED),
    (b'{"type":"x","y":"\xc3\xa9"}', EVENT),
    (b'{"type":"x","y":NaN}', MALFORMED),
    (b'{"type":"x","y":Infinity}', MALFORMED),
    (b'{"type":"x","y":-Infinity}', MALFORMED),
    # types and fields that nobody knows
    (b'{"type":"made.up","sid":"b","seq":1,"new":{"deep":[1]}}', EVENT),
    (b'{"type":""}', EVENT),
]


@pytest.mark.parametrize(("line", "verdict"), VERDICTS)
def test_each_line_gets_its_verdict(line: bytes, verdict: type) -> None:
    assert type(decode_line(line)) is verdict


@pytest.mark.parametrize(("line", "verdict"), VERDICTS)
@pytest.mark.parametrize("around", [(START,), (LATER, START)], ids=["in order", "out of order"])
def test_a_file_is_read_line_by_line_with_the_same_verdicts(
    tmp_path: Path, line: bytes, verdict: type, around: tuple[bytes, ...]
) -> None:
    found = told(tmp_path, *around, line, b'{"type":"session.end","sid":"a","seq":9,"data":{"reason":"completed"}}')
    number = len(around) + 1
    assert found["malformed"] == ([number] if verdict is MALFORMED else [])
    assert found["unknown_version"] == ([number] if verdict is UNKNOWN_VERSION else [])
    assert found["runs"][0]["end_reason"] == "completed", "reading goes on after it"


def told(tmp_path: Path, *lines: bytes, ending: bytes = b"\n", before: bytes = b"") -> dict[str, Any]:
    file = tmp_path / "events.jsonl"
    file.write_bytes(before + b"".join(line + ending for line in lines))
    return document(analyse(read_state(file)))


def task(type_: bytes, seq: int, data: bytes) -> bytes:
    return b'{"v":1,"sid":"a","seq":%d,"type":"%s","data":%s}' % (seq, type_, data)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b" \t\n", b"\n\n"], ids=["lf", "crlf", "white space", "empty line"])
def test_every_line_ending_reads_the_same(tmp_path: Path, ending: bytes) -> None:
    found = told(tmp_path, START, task(b"task.started", 1, b'{"taskId":"1"}'), ending=ending)
    assert (found["events"], found["tasks"], found["malformed"]) == (2, {"1": "IN_PROGRESS"}, [])


@pytest.mark.parametrize(
    ("before", "malformed"),
    [(b"", []), (b"\xef\xbb\xbf", []), (b"\xef\xbb\xbf\xef\xbb\xbf", [1])],
    ids=["none", "one", "two"],
)
def test_a_byte_order_mark_at_the_start_is_ignored(tmp_path: Path, before: bytes, malformed: list[int]) -> None:
    assert told(tmp_path, START, before=before)["malformed"] == malformed


def test_a_byte_order_mark_elsewhere_is_not(tmp_path: Path) -> None:
    assert told(tmp_path, START, b"\xef\xbb\xbf" + task(b"x", 1, b"{}"))["malformed"] == [2]


def test_a_torn_last_line_is_named_and_everything_before_it_counts(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(START + b"\n" + task(b"task.started", 1, b'{"taskId":"1"}')[:-9])
    found = document(analyse(read_state(tmp_path / "events.jsonl")))
    assert (found["events"], found["malformed"], found["interrupted"]) == (1, [2], True)


def test_a_line_of_an_unknown_version_overrides_nothing_and_leaves_a_gap(tmp_path: Path) -> None:
    kept = task(b"task.started", 1, b'{"taskId":"1"}')
    newer = task(b"task.completed", 1, b'{"taskId":"1"}').replace(b'"v":1', b'"v":2')
    lost = task(b"task.completed", 2, b'{"taskId":"1"}').replace(b'"v":1', b'"v":2')
    found = told(tmp_path, START, kept, newer, lost, task(b"warning.logged", 3, b"{}"))
    assert (found["tasks"], found["duplicates"], found["unknown_version"]) == ({"1": "IN_PROGRESS"}, 0, [3, 4])
    assert found["gaps"] == [{"sid": "a", "after_seq": 1, "expected_seq": 2, "actual_seq": 3, "missing_count": 1}]


def test_an_unknown_type_is_counted_and_changes_nothing(tmp_path: Path) -> None:
    found = told(tmp_path, START, task(b"task.teleported", 1, b'{"taskId":"1"}'), task(b"made.up", 2, b'{"x":1}'))
    assert (found["events"], found["gaps"], found["tasks"], found["issues"]) == (3, [], {}, [])


def test_gaps_are_looked_for_in_the_order_of_the_numbers_not_of_the_lines(tmp_path: Path) -> None:
    lines = {seq: task(b"warning.logged", seq, b"{}") for seq in (1, 2, 5, 9)}
    found = told(tmp_path, lines[9], lines[2], START, lines[5], lines[1], task(b"task.started", 3, b'{"taskId":"1"}'))
    gaps = [(one["after_seq"], one["expected_seq"], one["actual_seq"], one["missing_count"]) for one in found["gaps"]]
    assert gaps == [(3, 4, 5, 1), (5, 6, 9, 3)]


def test_the_order_of_the_numbers_decides_the_state_of_a_task(tmp_path: Path) -> None:
    lines = [task(b"task.completed", 2, b'{"taskId":"1"}'), task(b"task.started", 1, b'{"taskId":"1"}')]
    assert told(tmp_path, START, *lines)["tasks"] == {"1": "COMPLETE"}
    again = task(b"task.started", 3, b'{"taskId":"1"}')
    assert told(tmp_path, START, *lines, again)["tasks"] == {"1": "IN_PROGRESS"}, "the last event of a task decides"


@pytest.mark.parametrize(
    ("data", "tasks"),
    [
        (b'{"taskId":"1"}', {"1": "SKIPPED"}),
        (b'{"task_id":"1"}', {"1": "SKIPPED"}),
        (b'{"task":"1"}', {"1": "SKIPPED"}),
        (b'{"taskId":"1","task_id":"2","task":"3"}', {"1": "SKIPPED"}),
        (b'{"taskId":"","task":"3"}', {"3": "SKIPPED"}),
        (b'{"taskId":7}', {"7": "SKIPPED"}),
        (b'{"taskId":0}', {"0": "SKIPPED"}),
        (b'{"taskId":""}', {}),
        (b'{"taskId":null}', {}),
        (b'{"taskId":1.5}', {}),
        (b'{"taskId":true}', {}),
        (b'{"taskId":["1"]}', {}),
        (b"{}", {}),
        (b"null", {}),
        (b"[]", {}),
        (b'"1"', {}),
    ],
)
def test_a_task_is_named_in_three_ways_by_a_text_or_a_whole_number(
    tmp_path: Path, data: bytes, tasks: dict[str, str]
) -> None:
    found = told(tmp_path, START, task(b"task.skipped", 1, data))
    assert (found["tasks"], found["malformed"]) == (tasks, [])


def test_an_event_without_data_counts_as_one_with_empty_data(tmp_path: Path) -> None:
    found = told(tmp_path, START, b'{"v":1,"sid":"a","seq":1,"type":"task.failed"}')
    [issue] = found["issues"]
    assert (issue["seq"], issue["type"], issue["task"], issue["message"]) == (1, "task.failed", None, "")


@pytest.mark.parametrize(
    ("resumable", "is_one"),
    [
        (b"", True),
        (b',"resumable":true', True),
        (b',"resumable":null', True),
        (b',"resumable":0', True),
        (b',"resumable":false', False),
    ],
)
def test_only_a_checkpoint_that_says_no_cannot_be_resumed(tmp_path: Path, resumable: bytes, is_one: bool) -> None:
    found = told(tmp_path, START, task(b"checkpoint", 1, b'{"label":"c"%s}' % resumable))
    assert (found["checkpoint"] is not None) is is_one
    assert found["decision"]["case"] == ("A" if is_one else "C")


def test_tasks_that_are_only_planned_are_pending_in_the_order_of_the_plan_and_a_plan_resets_none(
    tmp_path: Path,
) -> None:
    plan = b'{"tasks":[{"id":"b"},{"id":"a"},{"id":3}]}'
    lines = [task(b"task.completed", 1, b'{"taskId":"a"}'), task(b"plan.created", 2, plan)]
    found = told(tmp_path, START, *lines)
    assert list(found["tasks"].items()) == [("a", "COMPLETE"), ("b", "PENDING"), ("3", "PENDING")]
    again = told(tmp_path, START, *lines, task(b"plan.updated", 3, b'{"tasks":[{"id":"c"},{"id":"a"}]}'))
    assert list(again["tasks"].items()) == [
        *(("a", "COMPLETE"), ("b", "PENDING"), ("3", "PENDING"), ("c", "PENDING")),
    ]


def test_a_failure_is_kept_with_its_words_and_its_attempts(tmp_path: Path) -> None:
    failed = task(b"task.failed", 1, b'{"taskId":"2","error":"QA failed 3 rounds","attempts":3}')
    found = told(tmp_path, START, failed)
    assert found["task_details"]["2"] == {"status": "FAILED", "error": "QA failed 3 rounds", "attempts": 3}
    assert [(one["task"], one["message"], one["attempts"]) for one in found["issues"]] == [
        ("2", "QA failed 3 rounds", 3)
    ]


def test_warnings_after_the_checkpoint_are_context_and_ask_nothing(tmp_path: Path) -> None:
    lines = [
        task(b"warning.logged", 1, b'{"message":"before"}'),
        task(b"checkpoint", 2, b'{"label":"c"}'),
        task(b"warning.logged", 3, b'{"message":"after","context":"lint"}'),
    ]
    found = told(tmp_path, START, *lines)
    assert [one["message"] for one in found["warnings"]] == ["after"]
    assert (found["issues"], found["decision"]["case"]) == ([], "A")


def test_an_error_of_an_agent_is_an_issue_with_its_place_and_ends_no_agent(tmp_path: Path) -> None:
    lines = [
        task(b"agent.spawned", 1, b'{"name":"alpha","role":"coder","task":"1","branch":"work/f/1"}'),
        task(b"agent.error", 2, b'{"name":"alpha","error":"boom","file":"a.py","line":3,"resolved":false}'),
        task(b"agent.error", 3, b'{"name":"alpha","error":"mended","resolved":true}'),
    ]
    found = told(tmp_path, START, *lines)
    assert [(one["message"], one["file"], one["line"]) for one in found["issues"]] == [("boom", "a.py", 3)]
    assert [one["message"] for one in found["resolved_issues"]] == ["mended"]
    assert found["active_agents"] == ["alpha"]
    assert found["branches"] == {"work/f/1": {"task": "1", "merged": False}}


@pytest.mark.parametrize(
    ("reason", "interrupted"), [(None, True), ("completed", False), ("error", False), ("user_cancelled", False)]
)
def test_only_a_run_without_an_end_is_interrupted(tmp_path: Path, reason: str | None, interrupted: bool) -> None:
    end = [task(b"session.end", 1, b'{"reason":"%s"}' % reason.encode())] if reason else []
    found = told(tmp_path, START, *end)
    assert (found["interrupted"], found["runs"][0]["end_reason"]) == (interrupted, reason)


def test_runs_are_looked_at_from_the_newest_to_the_oldest(tmp_path: Path) -> None:
    starts = [START.replace(b'"a"', b'"%s"' % sid) for sid in (b"old", b"mid", b"new")]
    found = told(tmp_path, *starts)
    assert (found["sid"], found["interrupted_sids"]) == ("new", ["new", "mid", "old"])
    assert [run["sid"] for run in found["runs"]] == ["old", "mid", "new"]


def test_each_run_is_listed_with_its_times_its_number_of_events_and_whether_it_ended(tmp_path: Path) -> None:
    timed = [
        b'{"sid":"a","seq":%d,"type":"%s","ts":"2026-02-14T10:0%d:00.000Z"}' % (seq, type_, seq)
        for seq, type_ in enumerate((b"session.start", b"tool.invoked", b"session.end"))
    ]
    [run] = told(tmp_path, *timed)["runs"]
    assert (run["sid"], run["first_ts"], run["last_ts"]) == (
        *("a", "2026-02-14T10:00:00.000Z", "2026-02-14T10:02:00.000Z"),
    )
    assert (run["events"], run["ended"]) == (3, True)
    assert (run["event_count"], run["has_end"]) == (3, True), "the names that the document gives them"


PLANNED = (
    b'{"tasks":[{"id":"1"},{"id":"2"},{"id":3},{"id":"4"}],'
    b'"waves":[{"wave":1,"task_ids":["1","2"]},{"wave":2,"task_ids":[3,"4"]}],'
    b'"dependencies":[{"task_id":3,"blocked_by":["1"]},{"task_id":"4","blocked_by":[3]}]}'
)


@pytest.mark.parametrize(
    ("plan", "events", "planned"),
    [
        (PLANNED, [], {"wave": "1", "tasks": ["1", "2"]}),
        (PLANNED, [(b"task.completed", b"1"), (b"task.started", b"2")], {"wave": "1", "tasks": ["2"]}),
        (PLANNED, [(b"task.completed", b"1"), (b"task.skipped", b"2")], {"wave": "2", "tasks": ["3", "4"]}),
        (PLANNED, [(b"task.completed", b"1"), (b"task.failed", b"2")], {"wave": "1", "tasks": ["2"]}),
        (PLANNED, [(b"task.completed", name) for name in (b"1", b"2", b"3", b"4")], None),
        (PLANNED.replace(b"waves", b"other"), [(b"task.completed", b"1")], {"wave": None, "tasks": ["2", "3"]}),
        (
            b'{"tasks":[{"id":"1"}],"waves":["x",{"task_ids":7},null],"dependencies":[7]}',
            [],
            {"wave": None, "tasks": ["1"]},
        ),
        (b'{"tasks":[{"id":"1"}],"waves":[{"wave":[1],"task_ids":["1"]}]}', [], {"wave": "1", "tasks": ["1"]}),
        (b'{"tasks":[]}', [], None),
    ],
)
def test_without_a_checkpoint_the_next_planned_step_is_found_from_the_plan_and_the_states(
    tmp_path: Path, plan: bytes, events: list[tuple[bytes, bytes]], planned: dict[str, Any] | None
) -> None:
    lines = [task(type_, seq, b'{"taskId":"%s"}' % name) for seq, (type_, name) in enumerate(events, start=2)]
    assert told(tmp_path, START, task(b"plan.created", 1, plan), *lines)["next_planned"] == planned
