"""The plan as `plan.created` carries it, both ways. Plans of others are read too: what they leave out is filled in."""

from __future__ import annotations

from typing import Any

from rekindle.core.feature.plan import BadPlan, Edges, Plan, Task, Waves, arrange
from rekindle.core.journal import run
from rekindle.core.journal.event import task_id, text


def to_event(plan: Plan) -> dict[str, Any]:
    """The data of `plan.created`: the journal's own fields, and in them what a resume has to know."""
    return {
        "tasks": [_task_data(task) for task in plan.tasks],
        "waves": [
            {"wave": number, "task_ids": list(wave), "lint": list(plan.lint), "checks": list(plan.checks)}
            for number, wave in enumerate(plan.waves, start=1)
        ],
        "dependencies": [
            *({"task_id": name, "blocked_by": other} for name, others in plan.needs.items() for other in others),
            *(
                {"task_id": name, "blocked_by": other, "order_only": True}
                for name, others in plan.after.items()
                for other in others
            ),
        ],
    }


def _task_data(task: Task) -> dict[str, Any]:
    data = {name: getattr(task, name) for name in task.__struct_fields__}
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}
    return {name: value for name, value in shown.items() if value or name in ("id", "summary", "agent")}


def from_event(raw: run.RecordedPlan) -> Plan:
    """The plan that a journal carries. Raises BadPlan where it names tasks that it does not have."""
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


__all__ = ["BadPlan", "from_event", "to_event"]
