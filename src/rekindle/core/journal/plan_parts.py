"""A plan that is too large for one event: how the events with its parts add up to it.

`plan.created` has the first part, and each `plan.updated` (`task_added`) after it has the next one. Every part has
tasks with their waves and dependencies, so a reader that knows nothing about parts sees a plan; `part` and `parts` say
which one it is, and of how many.
"""

from __future__ import annotations

from typing import Any

from rekindle.core.journal.event import PLAN_UPDATED
from rekindle.core.journal.run import RecordedPlan

_KEYS = ("tasks", "waves", "dependencies")


def with_part(before: RecordedPlan | None, type_: str, data: dict[str, Any]) -> RecordedPlan:
    """The plan after an event that carries one: the next part of the current plan, or a plan that replaces it."""
    part, parts = _whole(data.get("part")), _whole(data.get("parts"))
    tasks, waves, dependencies = (value if isinstance(value := data.get(key), list) else [] for key in _KEYS)
    found = RecordedPlan(tasks, waves, dependencies)
    if part is None or parts is None or not 1 <= part <= parts:
        return found
    missing = parts - part
    if part == 1 or before is None or type_ != PLAN_UPDATED or before.missing != missing + 1:
        return RecordedPlan(tasks, waves, dependencies, parts - 1 if part == 1 else parts)
    joined = _joined(before.waves, waves)
    return RecordedPlan(before.tasks + tasks, joined, before.dependencies + dependencies, missing)


def newer_plan(before: RecordedPlan | None, later: RecordedPlan | None) -> RecordedPlan | None:
    """The plan of a lineage after one more run. A plan that a run was interrupted in writing replaces nothing."""
    if later is None or (later.missing and before is not None and not before.missing):
        return before
    return later


def _joined(waves: list[Any], more: list[Any]) -> list[Any]:
    """The waves of two parts, with waves of the same number merged."""
    places = {number: place for place, wave in enumerate(waves) if (number := _number(wave)) is not None}
    found = list(waves)
    for wave in more:
        number = _number(wave)
        if number is None or number not in places:
            found.append(wave)
        else:
            place = places[number]
            found[place] = {**found[place], "task_ids": [*_ids(found[place]), *_ids(wave)]}
    return found


def _number(wave: object) -> int | None:
    return _whole(wave.get("wave")) if isinstance(wave, dict) else None


def _ids(wave: dict[str, Any]) -> list[Any]:
    listed = wave.get("task_ids")
    return listed if isinstance(listed, list) else []


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
