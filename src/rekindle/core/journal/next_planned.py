"""The next planned step of a lineage, from its plan and the states of its tasks alone. Pure.

A checkpoint names the step after it (`plan_step`), but it may name none, and there may be no checkpoint at all.
"""

from __future__ import annotations

from typing import Any

from rekindle.core.journal.event import task_id
from rekindle.core.journal.lineage import LineageState, status_of
from rekindle.core.journal.run import COMPLETE, SKIPPED


def next_planned(state: LineageState) -> tuple[str, tuple[str, ...]]:
    """The earliest wave with work left, as it is numbered in the plan, and the tasks left in it.

    Without waves: the tasks that are blocked by nothing that is left. Nothing of the plan is trusted to have a form.
    """
    left = [name for name, task in state.tasks.items() if status_of(task) not in (COMPLETE, SKIPPED)]
    plan = state.plan
    if plan is None or not left:
        return "", ()
    for number, wave in enumerate(plan.waves, start=1):
        named = wave.get("task_ids") if isinstance(wave, dict) else None
        if isinstance(named, list) and (waiting := _in(left, named)):
            told = wave.get("wave", number)
            return str(told if isinstance(told, (int, str)) else number), waiting
    blocked = {
        name
        for one in plan.dependencies
        if isinstance(one, dict) and (name := task_id(one.get("task_id"))) is not None
        if isinstance(before := one.get("blocked_by"), list) and _in(left, before)
    }
    return "", tuple(name for name in left if name not in blocked)


def in_words(state: LineageState) -> str:
    """The same for a person: `wave 2 (tasks 3 and 4)`; empty if nothing is planned."""
    wave, tasks = next_planned(state)
    if not tasks:
        return ""
    named = f"task {tasks[0]}" if len(tasks) == 1 else f"tasks {', '.join(tasks[:-1])} and {tasks[-1]}"
    return f"wave {wave} ({named})" if wave else named


def _in(left: list[str], named: list[Any]) -> tuple[str, ...]:
    ids = {task_id(one) for one in named}
    return tuple(name for name in left if name in ids)
