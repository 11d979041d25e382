"""The plan as the journal carries it, both ways. Other programs' plans are read too: what they leave out is filled in.

A line of a journal has a size limit, so a large plan is written in parts: see `rekindle.core.journal.plan_parts`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rekindle.core.feature.plan import BadPlan, Edges, Plan, Task, Waves, arrange
from rekindle.core.journal import run
from rekindle.core.journal.event import task_id, text

Data = dict[str, Any]
#: The approximate size of a part of a plan, in bytes.
PART = 256 * 1024
#: A task that needs more bytes than this does not fit into an event.
_LONGEST_TASK = (1 << 20) - 16 * 1024
_json = json.JSONEncoder(separators=(",", ":")).encode


def to_events(plan: Plan, part: int = PART) -> list[Data]:
    """The data of `plan.created` and, for a plan that is too long for one event, of a `plan.updated` for each further
    part: the journal's own fields, and in them what a resume has to know.

    Raises BadPlan for a task that does not fit into an event, before anything of such a plan is written.
    """
    waves = {name: number for number, wave in enumerate(plan.waves, start=1) for name in wave}
    pieces = list(_pieces(plan, waves, part))
    found = []
    for number, pieced in enumerate(pieces, start=1):
        data: Data = {
            "tasks": [task for task, _ in pieced],
            "waves": _wave_data(plan, waves, pieced),
            "dependencies": [one for _, dependencies in pieced for one in dependencies],
        }
        if len(pieces) > 1:
            data |= {"part": number, "parts": len(pieces)}
        if number > 1:
            data |= {"change": "task_added", "reason": f"the plan is long: part {number} of {len(pieces)}"}
        found.append(data)
    return found


_Piece = list[tuple[Data, list[Data]]]


def _pieces(plan: Plan, waves: dict[str, int], part: int) -> Iterator[_Piece]:
    """The tasks with their dependencies, in parts. They are in the plan's order if the waves are too."""
    place = {task.id: number for number, task in enumerate(plan.tasks)}
    in_order = all(list(wave) == sorted(wave, key=place.__getitem__) for wave in plan.waves)
    tasks = plan.tasks if in_order else [plan.task(name) for wave in plan.waves for name in wave]
    commands = len(_json([*plan.lint, *plan.checks]))
    piece: _Piece = []
    size, seen = 0, set[int]()
    for task in tasks:
        one = (_task_data(task), _dependencies(plan, task.id))
        here = len(_json(one)) + len(task.id)
        header = 0 if waves[task.id] in seen else 64 + commands
        if here + 64 + commands > _LONGEST_TASK:
            raise BadPlan(
                f"task {task.id!r} takes {here + commands} bytes in the journal, and {_LONGEST_TASK} is the most",
                "put the long part of its prompt into a file, and name that file in the prompt",
                task.id,
            )
        if piece and size + here + header > part:
            yield piece
            piece, size, seen = [], 0, set()
            header = 64 + commands
        piece.append(one)
        size += here + header
        seen.add(waves[task.id])
    yield piece


def _wave_data(plan: Plan, waves: dict[str, int], piece: _Piece) -> list[Data]:
    names = sorted((task["id"] for task, _ in piece), key=waves.__getitem__)
    return [
        {"wave": number, "task_ids": list(found), "lint": list(plan.lint), "checks": list(plan.checks)}
        for number, found in groupby(names, waves.__getitem__)
    ]


def _dependencies(plan: Plan, name: str) -> list[Data]:
    """What a task waits for. If only waves say so, the event's waves do too."""
    needs = [{"task_id": name, "blocked_by": other} for other in plan.needs.get(name, ())]
    after = () if plan.by_waves else plan.after.get(name, ())
    return [*needs, *({"task_id": name, "blocked_by": other, "order_only": True} for other in after)]


def _task_data(task: Task) -> Data:
    data = {name: getattr(task, name) for name in task.__struct_fields__}
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}
    return {name: value for name, value in shown.items() if value or name in ("id", "summary", "agent")}


def from_event(raw: run.RecordedPlan | None) -> Plan | None:
    """The plan that a journal carries, if it has all of it. Raises BadPlan if it names tasks that it does not have."""
    if raw is None or raw.missing:
        return None
    tasks = [found for item in raw.tasks if isinstance(item, dict) and (found := _task(item)) is not None]
    needs: Edges = {}
    after: Edges = {}
    for item in raw.dependencies:
        if not isinstance(item, dict):
            continue
        name, given = task_id(item.get("task_id")), item.get("blocked_by")
        others = tuple(other for one in (given if isinstance(given, list) else [given]) if (other := task_id(one)))
        if name is None or not others:
            continue
        kind = after if item.get("order_only") is True else needs
        kind[name] = (*kind.get(name, ()), *others)
    waves = _waves(raw.waves)
    covered = sorted(name for wave in waves for name in wave) == sorted(task.id for task in tasks)
    first = next((item for item in raw.waves if isinstance(item, dict)), {})
    return arrange(
        tasks,
        needs=needs,
        after=after,
        waves=waves if covered else None,
        lint=_texts(first.get("lint")),
        checks=_texts(first.get("checks")),
    )


def _task(item: dict[str, Any]) -> Task | None:
    found = task_id(item.get("id"))
    if found is None:
        return None
    words = {name: text(item.get(name)) or "" for name in ("summary", "prompt", "agent", "reviewer", "review")}
    return Task(found, files=_texts(item.get("files")), checks=_texts(item.get("checks")), **words)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()


def _waves(raw: list[Any]) -> Waves:
    found: list[tuple[Any, tuple[str, ...]]] = []
    for place, item in enumerate(raw):
        listed = item.get("task_ids") if isinstance(item, dict) else None
        number = item.get("wave") if isinstance(item, dict) else None
        if isinstance(listed, list):
            order = number if isinstance(number, int) and not isinstance(number, bool) else place
            found.append((order, tuple(name for one in listed if (name := task_id(one)))))
    return tuple(wave for _, wave in sorted(found, key=lambda item: item[0]) if wave)


__all__ = ["BadPlan", "from_event", "to_events"]
