"""An analysis as a dozen plain values: what a listing shows, and what is cheap to keep from one call to the next."""

from __future__ import annotations

from typing import Any, Final

from rekindle.core.journal.analysis import Analysis
from rekindle.core.journal.lineage import status_of

#: How many problems are named, and how many characters each gets: a screen is not a log.
_MOST: Final = 3
_LONGEST: Final = 300


def summary(analysis: Analysis) -> dict[str, Any]:
    """Plain JSON values only: this is cached, and read back without the analysis's types."""
    state, run = analysis.state, analysis.run
    counts: dict[str, int] = {}
    for task in state.tasks.values():
        status = status_of(task)
        counts[status] = counts.get(status, 0) + 1
    label = state.checkpoint.label if state.checkpoint is not None else None
    return {
        "sid": analysis.sid,
        "interrupted_sids": list(analysis.interrupted),
        "ended": run.ended if run is not None else False,
        "end_reason": run.end_reason if run is not None else None,
        "end_message": run.end_message if run is not None else None,
        "first_ts": analysis.journal.runs[0].first_ts if analysis.journal.runs else None,
        "last_ts": run.last_ts if run is not None else None,
        "runs": len(analysis.journal.runs),
        "tasks": counts,
        "active_agents": state.active_agents,
        "checkpoint": label if isinstance(label, str) else None,
        "has_checkpoint": state.checkpoint is not None,
        "issues": len(state.issues),
        "problems": [[one.task, one.message[:_LONGEST]] for one in state.issues[:_MOST]],
        "has_plan": state.plan is not None,
        "case": analysis.decision.case,
        "next_step": analysis.decision.next_step,
        "restart_tasks": list(analysis.decision.restart_tasks),
        "malformed": len(analysis.journal.malformed),
        "gaps": len(state.gaps),
    }
