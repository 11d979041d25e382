"""Tasks: how far one has come, by its branch and its quality assurance, and which step comes next.

The journal may have lost an event; git is a witness too. Both are in the evidence, and the one that is further counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Step = Literal[
    "done",
    "merge again",
    "merge",
    "work on the issues",
    "check",
    "resume the work",
    "start",
    "make the branch and start",
]
Quality = Literal["passed", "failed", "none"]


@dataclass(frozen=True)
class TaskSides:
    """What exists of a task. `gone`: we merged it, and the merge is no longer in the feature's branch.

    `finished`: its agent is known to have finished.
    """

    merged: bool
    branch: bool
    commits: bool
    quality: Quality
    gone: bool = False
    finished: bool = False


def step(task: TaskSides) -> Step:
    """The step with which the task continues."""
    match task:
        case TaskSides(merged=True):
            return "done"
        case TaskSides(gone=True, branch=False):
            return "merge again"
        case TaskSides(branch=False):
            return "make the branch and start"
        case TaskSides(commits=False):
            return "start"
        case TaskSides(quality="passed"):
            return "merge"
        case TaskSides(quality="failed"):
            return "work on the issues"
        case TaskSides(finished=True):
            return "check"
        case _:
            return "resume the work"
