"""A plan that was worked on before and is asked for again: what was found of it."""

from __future__ import annotations

from rekindle.app.feature_view import RunView, TaskView
from rekindle.core.feature.finished import done_before
from rekindle.core.feature.plan import BadPlan, Plan
from rekindle.core.feature.plan_event import from_event
from rekindle.core.feature.progress import TaskProgress, progress
from rekindle.core.feature.records import named_branches
from rekindle.core.journal.analysis import Analysis
from rekindle.core.naming_some import some_of
from rekindle.core.terminal_text import quoted
from rekindle.ports.errors import UsageError
from rekindle.ports.workspace import Workspace

AGAIN = "--again"
_NAMED = 5


def finished(here: Workspace, feature: str, plan: Plan) -> RunView | None:
    """The run that completed all of this plan; None if none of its tasks was done before.

    Raises UsageError if some of them were: they would be paid for again.
    """
    if not here.journal(feature).path.exists():
        return None
    analysis, _ = here.analysis(feature)
    earlier = _plan_of(analysis)
    again = done_before(plan, earlier, analysis.state)
    run = analysis.run
    if not again or run is None or earlier is None:
        return None
    if run.end_reason == "completed" and len(again) == len(plan.tasks):
        return _view(here, feature, plan, analysis)
    named = some_of(again, _NAMED)
    what = f"task {named} of this plan is done" if len(again) == 1 else f"tasks {named} of this plan are done"
    if run.end_reason == "completed":
        other = "remove them, or give the plan another feature name" if len(again) > 1 else "remove it from the plan"
    else:
        other = f"continue the rest: rekindle resume {quoted(feature)}"
    raise UsageError(
        f"{what} already, by run {run.sid} of {feature}",
        f"{other}; or run (and pay for) all of it again: {AGAIN}",
        code="done_before",
    )


def _plan_of(analysis: Analysis) -> Plan | None:
    try:
        return from_event(analysis.state.plan)
    except BadPlan:
        return None


def _view(here: Workspace, feature: str, plan: Plan, analysis: Analysis) -> RunView:
    runs = [analysis.journal.sids[sid] for sid in analysis.lineage]
    known = progress(feature, plan, runs)
    start = analysis.run.start if analysis.run is not None else None
    return RunView(
        feature=feature,
        branch=here.git(feature, named_branches(runs)).branch,
        sid=analysis.sid or "",
        mode=(start.mode if start is not None else None) or "",
        over=True,
        reason="completed",
        message="",
        waves=[list(wave) for wave in plan.waves],
        tasks=[_task(task.id, task.summary, known[task.id]) for task in plan.tasks],
        seconds=None,
        tokens=None,
        cost=None,
        leftovers=[],
    )


def _task(name: str, summary: str, known: TaskProgress) -> TaskView:
    state = "merged" if known.merged else "unchanged" if known.unchanged else "done"
    return TaskView(name, summary, state, "", None, None, None, 0, 0, None, [], [])
