"""The analysis as the JSON object that other programs rely on. Fields may be added here, never changed."""

from __future__ import annotations

from typing import Any

from rekindle.core.journal.analysis import Analysis
from rekindle.core.journal.lineage import status_of
from rekindle.core.journal.next_planned import next_planned
from rekindle.core.journal.run import Issue, RecordedTask, RunState


def document(analysis: Analysis) -> dict[str, Any]:
    """The object of `rekindle analyze --json`."""
    journal, state, decision = analysis.journal, analysis.state, analysis.decision
    checkpoint = state.checkpoint
    return {
        "feature": analysis.feature,
        "sid": analysis.sid,
        "interrupted": analysis.is_interrupted,
        "interrupted_sids": list(analysis.interrupted),
        "lineage": list(analysis.lineage),
        "events": analysis.run.events if analysis.run is not None else 0,
        "malformed": journal.malformed,
        "unknown_version": journal.unknown_version,
        "duplicates": journal.duplicates,
        "strays": journal.strays,
        "gaps": [{name: getattr(gap, name) for name in gap.__struct_fields__} for gap in state.gaps],
        "checkpoint": None
        if checkpoint is None
        else {name: getattr(checkpoint, name) for name in checkpoint.__struct_fields__},
        "tasks": {name: status_of(task) for name, task in state.tasks.items()},
        "active_agents": state.active_agents,
        "issues": [_issue(issue) for issue in state.issues],
        "resolved_issues": [_issue(issue) for issue in state.resolved_issues],
        "warnings": [_issue(issue) for issue in state.warnings],
        "after_checkpoint": [{name: getattr(one, name) for name in one.__struct_fields__} for one in state.later],
        "after_checkpoint_count": state.later_count,
        "decision": {
            "case": decision.case,
            "next_step": decision.next_step,
            "restart_tasks": list(decision.restart_tasks),
        },
        "options": [{"key": option.key, "title": option.title, "effect": option.effect} for option in decision.options],
        "task_details": {name: _task(task) for name, task in state.tasks.items()},
        "qa": {name: {"result": qa.result, "round": qa.round} for name, qa in state.qa.items()},
        "plan": None
        if state.plan is None
        else {
            **{name: getattr(state.plan, name) for name in ("tasks", "waves", "dependencies")},
            **({"missing_parts": state.plan.missing} if state.plan.missing else {}),
        },
        "claims": [{name: getattr(one, name) for name in one.__struct_fields__} for one in state.claims],
        "branches": {
            name: {"task": branch.task, "merged": branch.merged is True} for name, branch in state.branches.items()
        },
        "worktrees": state.worktrees,
        "next_planned": _next_planned(analysis),
        "runs": [_run(run, analysis) for run in journal.runs],
        "lines": journal.lines,
    }


def _issue(issue: Issue) -> dict[str, Any]:
    return {
        name: getattr(issue, name) for name in ("sid", "seq", "type", "task", "message", "file", "line", "attempts")
    }


def _task(task: RecordedTask) -> dict[str, Any]:
    shown = {name: getattr(task, name) for name in task.__struct_fields__ if name != "status"}
    return {"status": status_of(task), **{name: value for name, value in shown.items() if value is not None}}


def _run(run: RunState, analysis: Analysis) -> dict[str, Any]:
    return {
        "sid": run.sid,
        "command": run.start.command if run.start is not None else None,
        "branch": run.start.branch if run.start is not None else None,
        "mode": run.start.mode if run.start is not None else None,
        "first_ts": run.first_ts,
        "last_ts": run.last_ts,
        "events": run.events,
        "first_seq": run.first_seq,
        "last_seq": run.last_seq if run.last_seq >= 0 else None,
        "ended": run.ended,
        "end_reason": run.end_reason,
        "superseded": run.sid in analysis.superseded,
        "interrupted": run.sid in analysis.interrupted,
        "event_count": run.events,
        "has_end": run.ended,
    }


def _next_planned(analysis: Analysis) -> dict[str, Any] | None:
    wave, tasks = next_planned(analysis.state)
    return {"wave": wave or None, "tasks": list(tasks)} if tasks else None
