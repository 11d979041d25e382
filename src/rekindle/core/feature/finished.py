"""Whether a plan was carried out before: nobody pays agents twice for the same work without saying so. Pure."""

from __future__ import annotations

from rekindle.core.feature.plan import Plan, Task
from rekindle.core.journal.lineage import LineageState
from rekindle.core.journal.run import COMPLETE


def done_before(plan: Plan, earlier: Plan | None, state: LineageState) -> tuple[str, ...]:
    """The tasks of a plan that an earlier run of its feature has completed, with the same text."""
    known = {task.id: _asked(task) for task in earlier.tasks} if earlier is not None else {}
    complete = {name for name, task in state.tasks.items() if task.status == COMPLETE}
    return tuple(task.id for task in plan.tasks if task.id in complete and known.get(task.id) == _asked(task))


def _asked(task: Task) -> str:
    """What an agent is asked to do: another program's plan may have only a summary."""
    return (task.prompt or task.summary).strip()
