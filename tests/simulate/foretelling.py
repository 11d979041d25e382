"""What `resume --explain` foretells of each task, held against what then happens first to that task.

Only what a person is shown counts. What nobody could know (the agent may have finished while no daemon was there to
hear it) is not held against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rekindle.app.feature_resume import ExplainedFeature
from rekindle.core.feature.outlook import UNTOLD
from tests.simulate.house import Request
from tests.simulate.violation import demand
from tests.simulate.worktrees import Worktrees

#: What may happen first to a task for which this is foretold.
_FIRST: dict[str, tuple[str, ...]] = {
    "done": (),
    "skipped": (),
    "skip": (),
    "left alone": (),
    "merge": ("merge", "resolve"),
    "merge again": ("merge", "resolve"),
    "check": ("check", "review", "merge", "resolve"),
    "work on the issues": ("work",),
    "start over": ("work",),
    "go on with your words": ("work",),
    "resume the work": ("work",),
    "start": ("work",),
    "make the branch and start": ("work",),
}
#: What is foretold if the journal has not heard that the agent has finished, perhaps with the issues of a review.
_STARTS = ("resume the work", "start", "work on the issues", "go on with your words")
#: What becomes of a task about which a person is asked, by the answer.
_ANSWERED = {"A": "start over", "B": "skip", "C": "go on with your words"}


@dataclass
class Foretold:
    """What was foretold for a resume. `since`: how much had happened before it."""

    request: Request
    since: int
    tasks: dict[str, str] = field(default_factory=dict)


class Foretelling:
    """Of the newest resume; what was foretold before a user meddled is void."""

    def __init__(self, worktrees: Worktrees) -> None:
        self._worktrees = worktrees
        self._newest: Foretold | None = None

    def resume(self, told: ExplainedFeature | None, choice: str, request: Request) -> None:
        """Somebody has read this, and now resumes with this answer."""
        self._newest = None
        if told is None or told.case == "C":
            return  # all starts over, with the old plan or with another one
        found = Foretold(request, len(self._worktrees.trace))
        for row in told.tasks:
            action = str(row["action"])
            if action == "asked" or (choice == "C" and action not in UNTOLD):
                action = _ANSWERED.get(choice, "")
            found.tasks[str(row["name"])] = action
        self._newest = found

    def forget(self) -> None:
        """Something was changed from outside: what was foretold is void."""
        self._newest = None

    def after_step(self) -> None:
        """What happened first to each task is what was foretold."""
        found = self._newest
        if found is None or found.request.state != "answered":
            return
        for kind, task in self._worktrees.trace[found.since :]:
            action = found.tasks.get(task, "")
            if (allowed := _FIRST.get(action)) is not None:
                if action in _STARTS and any(one.who == task for one in self._worktrees.finished):
                    allowed = (*allowed, "check", "review", "merge", "resolve")
                if allowed:
                    del found.tasks[task]  # only what comes first was foretold
                foretold = " or ".join(allowed) or "nothing"
                demand(kind in allowed, f"--explain foretells {foretold} for task {task}, and first comes: {kind}")
