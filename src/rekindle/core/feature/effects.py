"""Every action that a feature's run can ask of the world, as data. All of them may be done twice without harm.

What an effect makes is named after its feature, task and round, or stamped so that git shows it: a run that was cut
after doing something and before writing it down finds it done.
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
    """A task's branch is gone, or our merge of it was taken out: make the branch again at what had passed."""

    task: str
    branch: str
    tip: str
    why: str


@dataclass(frozen=True)
class Notice:
    """Put into the journal, once, what somebody else has done to a task."""

    task: str
    message: str


@dataclass(frozen=True)
class Assign:
    """Have an agent work: begin its session where there is none, and put the prompt to it (once, by its id)."""

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
    """Commit what a task's agent has left uncommitted on top of `tip`."""

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
    """Checks of a task were cut: what is in its worktree now counts as theirs, and what comes later does not."""

    task: str


@dataclass(frozen=True)
class MakeCopy:
    """Make the copy of a commit that a reviewer works in."""

    task: str
    tip: str


@dataclass(frozen=True)
class ReadVerdict:
    """Read what the reviewer has said of this commit, and put its copy away."""

    task: str
    session: str
    round: int
    tip: str


@dataclass(frozen=True)
class Judge:
    """Write down how a round of quality assurance ended. No issues: it passed, and git remembers which commit."""

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
    """A task is merged: write down what is not written yet, and clear away what git says may go.

    `unchanged`: it has passed without a change, so that there is nothing to merge.
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
    """A task cannot go on before a person has done something."""

    task: str
    problem: str
    is_blocker: bool = False


@dataclass(frozen=True)
class AskStrays:
    """Work of a task is not on its branch: keep it, and let the task rest until a person has decided about it."""

    task: str
    branch: str
    strays: tuple[Stray, ...]


@dataclass(frozen=True)
class Report:
    """An agent asks for a permission that only a person can give: say so where it is read."""

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
    """Write the checkpoint behind a wave; 0 is the beginning."""

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
