"""Tasks: how far one has come, by its branch and its quality assurance, and with which step it therefore goes on.

The journal may have lost an event; git is a witness too. Both are in the evidence, and the further one counts.
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
    """What there is of a task. `gone`: we merged it, and that is not in the feature's branch any more.

    `finished`: its agent is known to have come to its end.
    """

    merged: bool
    branch: bool
    commits: bool
    quality: Quality
    gone: bool = False
    finished: bool = False


def step(task: TaskSides) -> Step:
    """The step with which the task goes on."""
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
