"""Names that are part of recorded histories: they may never change. What they mean may only be added to."""

from __future__ import annotations

from typing import Final

JOB_WORKFLOW: Final = "rekindle.job"
DUE_WORKFLOW: Final = "rekindle.due"
DRIVE: Final = "rekindle.drive"
PROMPTED: Final = "prompted"
STOPPED: Final = "stopped"
STATE: Final = "state"
#: The engine takes a job from its host after this time in any case. A lease never reaches so far.
CLOSES_AFTER_DAYS: Final = 30


def workflow_of(job: str) -> str:
    """The id of the workflow of a job; a schedule's is the same."""
    return f"rekindle-{job}"
