"""Journals for tests: single lines, the worked example of the resume protocol, and strategies for any other."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

SIDS = ("aaaa0001", "bbbb0002", "cccc0003")


def line(type_: str, sid: str | None = SIDS[0], seq: int | None = 0, **data: Any) -> bytes:
    """One journal line, without its newline."""
    event = {
        "v": 1,
        "ts": "2026-03-01T08:00:00.000Z",
        "sid": sid,
        "seq": seq,
        "type": type_,
        "feature": "search",
        "agent": None,
        "pane_id": None,
        "data": data,
    }
    return json.dumps(event, separators=(",", ":")).encode()


def journal(*lines: bytes) -> bytes:
    """A file of these lines."""
    return b"".join(one + b"\n" for one in lines)


def interrupted_in_wave_two(sid: str = "f4e3d2c1") -> list[bytes]:
    """Task 1 is merged and checkpointed; task 2 was at work, an error of it is resolved; then nothing more."""
    tasks = [
        {"id": "1", "summary": "Design schema", "agent": "schema-designer"},
        {"id": "2", "summary": "Build API", "agent": "service-eng"},
    ]
    waves = [{"wave": 1, "task_ids": ["1"]}, {"wave": 2, "task_ids": ["2"]}]
    steps: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"command": "implement", "branch": "feature/auth-system", "mode": "strict"}),
        ("plan.created", {"tasks": tasks, "waves": waves, "dependencies": [{"task_id": "2", "blocked_by": "1"}]}),
        ("agent.spawned", {"name": "schema-designer", "task": "1", "branch": "work/auth-system/schema-design"}),
        ("task.started", {"taskId": "1", "agent": "schema-designer", "files": ["schema.ts"]}),
        ("task.completed", {"taskId": "1", "files_changed": ["schema.ts", "001.ts"]}),
        ("agent.completed", {"name": "schema-designer", "result": "success"}),
        ("branch.merged", {"name": "work/auth-system/schema-design", "target": "feature/auth-system"}),
        (
            "checkpoint",
            {
                "label": "wave-1-complete",
                "branch": "feature/auth-system",
                "plan_step": "wave-2-start",
                "resumable": True,
            },
        ),
        ("agent.spawned", {"name": "service-eng", "task": "2", "branch": "work/auth-system/api-service"}),
        ("task.started", {"taskId": "2", "agent": "service-eng", "files": ["service.ts"]}),
        ("error.encountered", {"file": "service.ts", "line": 42, "error": "Import path not found", "resolved": True}),
    ]
    return [line(type_, sid, seq, **data) for seq, (type_, data) in enumerate(steps)]


def resumed_and_cut_again(sid: str = "b5a4c3d2") -> list[bytes]:
    """The resume of that run, interrupted in its turn."""
    return [
        line("session.start", sid, 0, command="resume", branch="feature/auth-system", mode="strict"),
        line("agent.spawned", sid, 1, name="service-eng", task="2", branch="work/auth-system/api-service"),
        line("task.started", sid, 2, taskId="2", agent="service-eng"),
    ]


_ids = st.sampled_from(["1", "2", 3, "", None, 1.5, True, ["1"]])
_messages = st.sampled_from(["boom", "é", "\ud800", "", None, 7])
_data = st.one_of(
    st.fixed_dictionaries({}, optional={"taskId": _ids, "task_id": _ids, "task": _ids, "error": _messages}),
    st.fixed_dictionaries({"name": st.sampled_from(["alpha", "beta", "", None, 4])}, optional={"task": _ids}),
    st.fixed_dictionaries({"tasks": st.lists(st.one_of(st.fixed_dictionaries({"id": _ids}), st.none()), max_size=3)}),
    st.fixed_dictionaries(
        {"command": st.sampled_from(["implement", "resume", "fix", None])},
        optional={
            "resumes": st.sampled_from([*SIDS, "x"]),
            "restarts": st.sampled_from([*SIDS, None]),
            "driver": st.sampled_from(["rekindle", "x", 1]),
        },
    ),
    st.fixed_dictionaries({"label": st.text(max_size=3), "resumable": st.sampled_from([True, False, None, 0])}),
    st.fixed_dictionaries(
        {
            "issues": st.lists(
                st.fixed_dictionaries({"sid": st.sampled_from(SIDS), "seq": st.integers(0, 6)}), max_size=2
            )
        }
    ),
    st.fixed_dictionaries({"resolved": st.sampled_from([True, False, None, 1])}),
    st.fixed_dictionaries({"name": st.just("work/x/1"), "path": st.just("w"), "reason": st.just("completed")}),
)
_types = st.sampled_from(
    [
        *("session.start", "session.end", "plan.created", "plan.updated", "checkpoint"),
        *("task.started", "task.completed", "task.failed", "task.skipped", "task.other"),
        *("agent.spawned", "agent.completed", "agent.error", "error.encountered", "blocker.reported"),
        *("warning.logged", "resume.decided", "tool.invoked", "file.modified", "made.up"),
        *("qa.started", "qa.passed", "qa.failed", "branch.created", "branch.merged"),
        *("worktree.created", "worktree.removed", "claimed.task.completed", "claimed.session.start"),
    ]
)


@st.composite
def events(draw: st.DrawFn) -> bytes:
    """A line that may be an event: mostly well-formed, in any order, with every liberty that the rules foresee."""
    event: dict[str, Any] = {"type": draw(_types), "data": draw(_data)}
    event["sid"] = draw(st.sampled_from([*SIDS, *SIDS, None, "", 5]))
    event["seq"] = draw(st.one_of(st.integers(0, 7), st.sampled_from([None, -1, 1.0, "3", True, 10**30])))
    if draw(st.integers(0, 9)) == 0:
        event["v"] = draw(st.sampled_from([1, 2, "1", 1.0, None, True]))
    event["feature"] = draw(st.sampled_from(["f", "g", None, 3]))
    event["ts"] = draw(st.sampled_from(["2026-03-01T08:00:00.000Z", "2026-03-01T09:00:00.000Z", None, 5]))
    for key in draw(st.sets(st.sampled_from(["data", "sid", "seq", "feature", "ts"]), max_size=1)):
        del event[key]
    separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    return json.dumps(event, separators=separators, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A line that something happened to, or that never was an event."""
    whole = draw(events())
    match draw(st.integers(0, 6)):
        case 0:
            return whole[: draw(st.integers(0, len(whole)))]
        case 1:
            return whole + draw(st.sampled_from([b"\r", b" ", b"x", whole, b"}"]))
        case 2:
            at = draw(st.integers(0, len(whole) - 1))
            return whole[:at] + bytes([draw(st.integers(0, 255))]) + whole[at + 1 :]
        case 3:
            return draw(st.sampled_from([b"", b"  ", b"[]", b"null", b"1", b'"x"', b"\0\0", b"NaN", b"[" * 2000]))
        case 4:
            return b'{"type":"tool.invoked","sid":"aaaa0001","seq":0,"x":' + b"9" * draw(st.integers(1, 6000)) + b"}"
        case 5:
            return b'{"type":"a","type":"task.started","\\u0073id":"aaaa0001","seq":1,"data":{"n":1e999,"k":NaN}}'
        case _:
            return draw(st.binary(max_size=20))


def regular() -> st.SearchStrategy[list[bytes]]:
    """Lines of several runs, each run's in rising order: what our own writers leave behind."""

    @st.composite
    def build(draw: st.DrawFn) -> list[bytes]:
        lines: list[bytes] = []
        last = dict.fromkeys(SIDS, -1)
        for _ in range(draw(st.integers(0, 16))):
            sid = draw(st.sampled_from(SIDS))
            last[sid] += draw(st.sampled_from([1, 1, 1, 2]))
            lines.append(line(draw(_types), sid, last[sid], **draw(_data)))
        return lines

    return build()


def any_lines() -> st.SearchStrategy[list[bytes]]:
    """Any journal, good or bad, without newlines inside its lines."""
    one = st.one_of(events(), events(), events(), damaged()).map(lambda raw: raw.replace(b"\n", b"?"))
    return st.one_of(regular(), st.lists(one, max_size=16))
