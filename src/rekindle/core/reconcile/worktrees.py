"""Worktrees: what the journal says about a task, what is on the disk, and what to do.

A worktree is removed only if git calls it merged, it is clean, and nobody has locked it.
"""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.core.reconcile.branches import BranchVerdict, Recorded


@dataclass(frozen=True)
class WorktreeSides:
    """One worktree from both sides. `blocked` says why it cannot be made again."""

    path: str
    recorded: Recorded
    exists: bool
    merged: bool = False
    uncommitted: bool = False
    locked: bool = False
    blocked: str = ""


_TABLE: dict[tuple[Recorded, bool], BranchVerdict] = {
    ("merged", True): BranchVerdict("delete", "its task is merged: it is no longer needed"),
    ("merged", False): BranchVerdict("nothing", "its task is merged, and it is gone"),
    ("in progress", True): BranchVerdict("go on", "its task continues in it"),
    ("in progress", False): BranchVerdict("make again", "it is gone: it is made again from its branch"),
    ("skipped", True): BranchVerdict("keep", "its task is left out: it is kept"),
    ("skipped", False): BranchVerdict("nothing", "its task is left out"),
    ("nothing", True): BranchVerdict("warn", "the journal does not know it: it is left alone"),
    ("nothing", False): BranchVerdict("nothing", "nothing mentions it"),
}


def reconcile(tree: WorktreeSides) -> BranchVerdict:
    """What to do about a worktree."""
    verdict = _TABLE[tree.recorded, tree.exists]
    if verdict.action == "make again" and tree.blocked:
        return BranchVerdict("blocked", f"{tree.blocked}: its task waits until you have fixed that")
    if verdict.action != "delete":
        return verdict
    if not tree.merged:
        return BranchVerdict("keep", "the journal calls its task merged, git does not: it is kept")
    if tree.uncommitted:
        return BranchVerdict("keep", "its task is merged, but it has uncommitted changes: it is kept")
    if tree.locked:
        return BranchVerdict("keep", "its task is merged, but somebody has locked it: it is kept")
    return verdict
