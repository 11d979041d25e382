"""Every action that a feature's run can ask for, as data. All of them can be done twice without harm.

What an effect creates is named after its feature, task and round, or stamped so that git shows it: a run that was
interrupted after doing something and before recording it finds it done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rekindle.core.feature.strays import Stray

#: An agent, or somebody else, has to do something first.
Waiting = Literal["waiting"]


@dataclass(frozen=True)
class MakeFeature:
    """Make the feature's branch."""

    task: str = ""


@dataclass(frozen=True)
class Prepare:
    """Make a task's branch and worktree, whichever is missing. The branch begins where its `wave` did.

    Without a wave (a task that was started over) it begins where the feature's branch is now.
    """

    task: str
    branch: str
    session: str
    wave: str = ""


@dataclass(frozen=True)
class Restore:
    """A task's branch is gone, or our merge of it was removed: recreate the branch at the commit that had passed."""

    task: str
    branch: str
    tip: str
    why: str


@dataclass(frozen=True)
class Notice:
    """Record in the journal, once, what somebody else has done to a task."""

    task: str
    message: str


@dataclass(frozen=True)
class Assign:
    """Have an agent work: begin its session if there is none, and give it the prompt (once, by its id)."""

    task: str
    session: str
    role: Literal["work", "review", "merge"]
    agent: str
    prompt: str
    text: str
    round: int
    first: bool = False


@dataclass(frozen=True)
class Revive:
    """Bring back an agent that ended in the middle of its turn."""

    task: str
    session: str


@dataclass(frozen=True)
class Rest:
    """End the process of an agent that has finished; its conversation is kept."""

    task: str
    session: str


@dataclass(frozen=True)
class Commit:
    """Commit what a task's agent has left uncommitted, on top of `tip`."""

    task: str
    branch: str
    round: int
    tip: str


@dataclass(frozen=True)
class RunChecks:
    """Run a task's own commands in its worktree."""

    task: str
    round: int
    tip: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class CloseChecks:
    """A task's checks were cut off: what is in its worktree now counts as theirs, what comes later does not."""

    task: str


@dataclass(frozen=True)
class MakeCopy:
    """Make the copy of a commit that a reviewer works in."""

    task: str
    tip: str


@dataclass(frozen=True)
class ReadVerdict:
    """Read the reviewer's verdict on this commit, and remove the copy."""

    task: str
    session: str
    round: int
    tip: str


@dataclass(frozen=True)
class Judge:
    """Record how a round of quality assurance ended. No issues: it passed, and git remembers which commit."""

    task: str
    round: int
    tip: str
    issues: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merge:
    """Merge a task's branch into the feature's, or finish a merge whose conflicts are resolved."""

    task: str
    branch: str
    tip: str
    epoch: str


@dataclass(frozen=True)
class Settle:
    """A task is merged: record what is not recorded yet, and clean up what git says may go.

    `unchanged`: it has passed without a change, so there is nothing to merge.
    """

    task: str
    branch: str
    unchanged: bool = False


@dataclass(frozen=True)
class Fail:
    """A task has failed for good."""

    task: str
    error: str
    attempts: int


@dataclass(frozen=True)
class Block:
    """A task cannot continue until a person has done something."""

    task: str
    problem: str
    is_blocker: bool = False


@dataclass(frozen=True)
class AskStrays:
    """A task has work that is not on its branch: keep it, and pause the task until a person has decided about it."""

    task: str
    branch: str
    strays: tuple[Stray, ...]


@dataclass(frozen=True)
class Report:
    """An agent asks for a permission that only a person can give: say so where people will read it."""

    task: str
    session: str
    question: str


@dataclass(frozen=True)
class CheckWave:
    """Run the plan's commands on the feature's whole tree."""

    wave: int
    tip: str
    commands: tuple[str, ...]
    task: str = ""


@dataclass(frozen=True)
class MarkWave:
    """Write the checkpoint after a wave; 0 is the beginning."""

    wave: int
    task: str = ""


@dataclass(frozen=True)
class WaitUntil:
    """Look again at this wall-clock time."""

    task: str
    until: float


@dataclass(frozen=True)
class Finish:
    """End the run."""

    reason: Literal["completed", "error"]
    message: str = ""
    task: str = ""


Effect = (
    MakeFeature
    | Prepare
    | Restore
    | Notice
    | Assign
    | Revive
    | Rest
    | Commit
    | RunChecks
    | CloseChecks
    | MakeCopy
    | ReadVerdict
    | Judge
    | Merge
    | Settle
    | Fail
    | Block
    | AskStrays
    | Report
    | CheckWave
    | MarkWave
    | WaitUntil
    | Finish
)


def depends_on_files(effect: Effect) -> bool:
    """Whether what is uncommitted in the worktree of its task at this moment decides about an effect.

    Ending an agent that has finished is right in any case. A verdict is not: it is about what the worktree has now.
    """
    return not isinstance(effect, Rest)
