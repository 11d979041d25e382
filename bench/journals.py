"""Makes journals for the benchmark: lines as hooks and commands write them, 332 bytes each on average.

The same shape always gives the same bytes. Most lines are tool.invoked, file.modified and check.ran, which a fold only
counts; around them stand plans, tasks, agents, checkpoints and now and then trouble: a lost number, a torn line, a run
that was cut off and resumed.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

LINE = 332
_RUN = 5_000
_TASK = 200
_MODULES = ("api", "auth", "billing", "catalog", "search", "session", "storage", "web")
_NAMES = ("service", "schema", "handlers", "middleware", "repository", "validation", "migrations")
_COMMANDS = ("npm test -- --run", "npx tsc --noEmit", "npx eslint src", "pytest -q tests")
_SUMMARY = (
    "Test Files 12 passed (12); Tests 148 passed (148); Start at 10:42:17; Duration 4.81s (transform 612ms, "
    "setup 0ms, collect 1.92s, tests 2.11s); no open handles left behind by the suite, coverage is 91 %"
)


@dataclass(frozen=True)
class Shape:
    """What a journal looks like. Its last run is cut off or not; the others are of all kinds."""

    feature: str
    lines: int
    interrupted: bool


def write(path: Path, shape: Shape) -> None:
    """Write the journal, and have it on disk, so that no row pays for writing it back."""
    path.parent.mkdir(parents=True)
    with open(path, "wb") as file:
        lines = journal(shape)
        while block := "".join(islice(lines, 10_000)):
            file.write(block.encode())
        file.flush()
        os.fsync(file.fileno())


def journal(shape: Shape) -> Iterator[str]:
    """The lines of a journal, newlines included."""
    length = min(_RUN, max(2, shape.lines // 2))
    starts = range(0, shape.lines - length + 1, length)
    before: str | None = None
    for number, first in enumerate(starts):
        last = number == len(starts) - 1
        count = shape.lines - first if last else length
        sid = f"{zlib.crc32(f'{shape.feature}/{number}'.encode()):08x}"
        ended = not shape.interrupted if last else number % 10 != 7
        resumes = None if last and shape.interrupted else before
        torn = not last and number % 40 == 7
        yield from _run(shape.feature, sid, first, count, ended=ended, resumes=resumes, torn=torn)
        before = None if ended else sid


def _run(
    feature: str, sid: str, first: int, count: int, *, ended: bool, resumes: str | None, torn: bool
) -> Iterator[str]:
    seq = 0
    bodies = _bodies(feature, count - ended - torn, resumes)
    for number, body in enumerate(bodies, start=first):
        yield f'{{"v":1,"ts":"{_time(number)}","sid":"{sid}","seq":{seq},{body}'
        seq += 2 if seq == 4_000 and first % 50_000 == 0 else 1
    if torn:
        yield f'{{"v":1,"ts":"{_time(first + count)}","sid":"{sid}","seq":{seq},"type":"tool.inv\n'
    elif ended:
        body = _body(feature, None, "session.end", {"reason": "completed", "duration_s": count, "tasks_completed": 4})
        yield f'{{"v":1,"ts":"{_time(first + count)}","sid":"{sid}","seq":{seq},{body}'


def _bodies(feature: str, count: int, resumes: str | None) -> Iterator[str]:
    """The run's lines from their type on: a beginning, a plan, and tasks until there are enough."""
    length = min(_TASK, max(1, count // 2))
    tasks = [str(number + 1) for number in range(-(-count // length))]
    yield from islice(_endless(feature, length, tasks, resumes), count)


def _endless(feature: str, length: int, tasks: list[str], resumes: str | None) -> Iterator[str]:
    start: dict[str, Any] = {"command": "resume" if resumes else "implement", "feature": feature}
    start |= {"branch": f"feature/{feature}", "mode": "standard"} | ({"resumes": resumes} if resumes else {})
    yield _body(feature, None, "session.start", start)
    plan = [{"id": task, "summary": f"Part {task}", "agent": f"engineer-{int(task) % 3}"} for task in tasks]
    waves = [{"wave": number, "task_ids": [task]} for number, task in enumerate(tasks, start=1)]
    yield _body(feature, None, "plan.created", {"tasks": plan, "waves": waves, "dependencies": []})
    for task in tasks:
        agent = f"engineer-{int(task) % 3}"
        before, after = _around(feature, task, agent)
        plain = cycle(_plain(feature, agent))
        yield from before
        yield from islice(plain, max(1, length - len(before) - len(after)))
        yield from after


def _around(feature: str, task: str, agent: str) -> tuple[list[str], list[str]]:
    """What is said when a task begins, and when it is done."""
    branch = f"work/{feature}/part-{task}"
    spawned = {"name": agent, "role": "Standard Coding Agent", "task": task, "branch": branch}
    started = {"taskId": task, "summary": f"Part {task}", "agent": agent, "files": ["src/api/service.ts"]}
    changed = {"taskId": task, "summary": f"Part {task}", "files_changed": ["src/api/service.ts"]}
    before = [
        _body(feature, None, "agent.spawned", spawned),
        _body(feature, agent, "branch.created", {"name": branch, "parent": f"feature/{feature}"}),
        _body(feature, agent, "task.started", started),
    ]
    if int(task) % 4 == 0:
        wrong = {"file": "src/api/service.ts", "line": 42, "error": "Import path not found", "attempts": 1}
        before.append(_body(feature, agent, "error.encountered", {**wrong, "resolved": True}))
    after = [
        _body(feature, agent, "qa.passed", {"taskId": task, "round": 1, "summary": "reads well, tests pass"}),
        _body(feature, agent, "task.completed", changed),
        _body(feature, None, "agent.completed", {"name": agent, "result": "success"}),
        _body(feature, None, "branch.merged", {"name": branch, "target": f"feature/{feature}", "conflicts": False}),
    ]
    if int(task) % 3 == 0:
        step = {"label": f"part-{task}-merged", "branch": f"feature/{feature}", "plan_step": f"part-{int(task) + 1}"}
        after.append(_body(feature, None, "checkpoint", {**step, "resumable": True}))
    return before, after


@lru_cache(maxsize=8)
def _plain(feature: str, agent: str) -> list[str]:
    """What hooks note between the two: a cycle that no task length is a multiple of."""
    lines: list[str] = []
    for number in range(53):
        module, name = _MODULES[number % len(_MODULES)], _NAMES[number % len(_NAMES)]
        folder = f"worktrees/{feature}/{agent}/packages/{module}/src/features/{feature}"
        path = f"{folder}/internal/handlers/{name}.{number:02}.ts"
        match number % 10:
            case 0 | 3 | 6 | 8:
                tool = ("Read", "Edit", "Grep", "Bash")[number % 4]
                lines.append(_body(feature, agent, "tool.invoked", {"tool": tool, "target": path, "duration_ms": 41}))
            case 1 | 4 | 7:
                lines.append(_body(feature, agent, "file.modified", {"path": path, "reason": "Edit"}))
            case 9 if number == 49:
                usage = {"agent": agent, "tokens_used": 71_402, "tokens_limit": 200_000, "percent": 35.7}
                lines.append(_body(feature, agent, "context.usage", usage))
            case _:
                ran = {"command": _COMMANDS[number % 4], "result": "pass", "output_summary": _SUMMARY}
                lines.append(_body(feature, agent, "check.ran", ran))
    return lines


def _body(feature: str, agent: str | None, type_: str, data: dict[str, Any]) -> str:
    envelope = {"type": type_, "feature": feature, "agent": agent, "pane_id": "%17" if agent else None, "data": data}
    return json.dumps(envelope, separators=(",", ":"))[1:] + "\n"


def _time(number: int) -> str:
    """A moment a little later for every line: days of 28 in months of one, which sort and parse like any other."""
    minutes, seconds = divmod(number * 2, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"2026-{1 + days // 28:02}-{1 + days % 28:02}T{hours:02}:{minutes:02}:{seconds:02}.{number % 1000:03}Z"
