"""What a resume of a feature would order: every agent, prompt and command, in plain values, for a person to see.

A journal is only data until the user has seen this and said yes, or has written it. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rekindle.core.feature.plan import Plan, Task
from rekindle.core.feature.progress import TaskProgress


def orders(
    plan: Plan, known: Mapping[str, TaskProgress], mode: str, agents: Collection[str], default_agent: str
) -> dict[str, Any]:
    """The orders that a plan and the progress so far lead to. `mode` decides which of the commands run.

    A plan may name roles that are not among `agents`: the default agent plays them.
    """
    play = {name: name for name in agents}
    return {
        "mode": mode,
        "lint": list(plan.lint),
        "checks": list(plan.checks),
        "tasks": [_task(task, known.get(task.id), play.get(task.agent, default_agent)) for task in plan.tasks],
    }


def _task(task: Task, one: TaskProgress | None, agent: str) -> dict[str, Any]:
    told = one.instructions if one is not None else ""
    issues = [str(issue) for issue in one.qa.issues] if one is not None and one.qa is not None else []
    return {
        "id": task.id,
        "agent": agent,
        "prompt": task.prompt.strip() or task.summary.strip(),
        "branch": one.branch if one is not None else "",
        "files": list(task.files),
        "instructions": told,
        "issues": issues,
        "checks": list(task.checks),
        "reviewer": task.reviewer,
        "review": task.review,
    }
