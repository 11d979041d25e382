"""Branches: what the journal says about one, what git says about it, and what to do.

Nothing is deleted on the journal's word alone: git itself must call the branch merged, and nothing uncommitted may
depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Recorded = Literal["merged", "in progress", "skipped", "nothing"]
Action = Literal["delete", "nothing", "go on", "start", "make again", "keep", "warn", "blocked"]


@dataclass(frozen=True)
class BranchSides:
    """One branch from both sides. `commits`: how many it has that the feature's branch did not have when it began.

    `held`: a worktree that has it checked out stays. `blocked` says why no worktree can have it.
    """

    name: str
    recorded: Recorded
    exists: bool
    commits: int = 0
    merged: bool = False
    held: bool = False
    blocked: str = ""


@dataclass(frozen=True)
class BranchVerdict:
    """What to do, and a sentence that says why."""

    action: Action
    why: str


_TABLE: dict[tuple[Recorded, bool], BranchVerdict] = {
    ("merged", True): BranchVerdict("delete", "it is merged, but not deleted yet"),
    ("merged", False): BranchVerdict("nothing", "it is merged and gone, as it should be"),
    ("in progress", True): BranchVerdict("go on", "it has work on it"),
    ("in progress", False): BranchVerdict("make again", "it is lost: it is made again and its task starts over"),
    ("skipped", True): BranchVerdict("keep", "its task is left out: it is kept"),
    ("skipped", False): BranchVerdict("nothing", "its task is left out"),
    ("nothing", True): BranchVerdict("warn", "the journal does not know it: it is left alone"),
    ("nothing", False): BranchVerdict("nothing", "nothing mentions it"),
}


def reconcile(branch: BranchSides) -> BranchVerdict:
    """What to do about a branch."""
    verdict = _TABLE[branch.recorded, branch.exists]
    if verdict.action == "delete" and not branch.merged:
        return BranchVerdict("keep", "the journal calls it merged, git does not: it is kept")
    if verdict.action == "delete" and branch.held:
        return BranchVerdict("keep", "it is merged, but its worktree stays: it is kept")
    if verdict.action in ("go on", "make again") and branch.blocked:
        return BranchVerdict("blocked", f"{branch.blocked}: its task waits until you have fixed that")
    if verdict.action == "go on" and not branch.commits:
        return BranchVerdict("start", "it has no commits yet: its agent is started again")
    return verdict
