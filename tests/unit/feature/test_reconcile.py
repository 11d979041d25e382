"""Every row of the three tables, and what may never be deleted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.reconcile import branches, tasks, worktrees
from rekindle.core.reconcile.branches import Action, BranchSides, Recorded
from rekindle.core.reconcile.tasks import Step, TaskSides
from rekindle.core.reconcile.worktrees import WorktreeSides

RECORDED = st.sampled_from(("merged", "in progress", "skipped", "nothing"))


@pytest.mark.parametrize(
    ("branch", "action"),
    [
        (BranchSides("b", "merged", True, commits=1, merged=True), "delete"),
        (BranchSides("b", "merged", False), "nothing"),
        (BranchSides("b", "in progress", True, commits=2), "go on"),
        (BranchSides("b", "in progress", True), "start"),
        (BranchSides("b", "in progress", False), "make again"),
        (BranchSides("b", "nothing", True, commits=2), "warn"),
        (BranchSides("b", "skipped", True, commits=2), "keep"),
        (BranchSides("b", "in progress", True, commits=2, blocked="it is somewhere else"), "blocked"),
        (BranchSides("b", "in progress", False, blocked="something is in the way"), "blocked"),
        (BranchSides("b", "merged", True, commits=1), "keep"),
        (BranchSides("b", "merged", True, commits=1, merged=True, held=True), "keep"),
    ],
)
def test_branches(branch: BranchSides, action: Action) -> None:
    assert branches.reconcile(branch).action == action


@pytest.mark.parametrize(
    ("tree", "action"),
    [
        (WorktreeSides("p", "merged", True, merged=True), "delete"),
        (WorktreeSides("p", "in progress", True), "go on"),
        (WorktreeSides("p", "in progress", False), "make again"),
        (WorktreeSides("p", "nothing", True), "warn"),
        (WorktreeSides("p", "skipped", True), "keep"),
        (WorktreeSides("p", "in progress", False, blocked="something is in the way"), "blocked"),
        (WorktreeSides("p", "merged", False), "nothing"),
        (WorktreeSides("p", "merged", True), "keep"),
        (WorktreeSides("p", "merged", True, merged=True, uncommitted=True), "keep"),
        (WorktreeSides("p", "merged", True, merged=True, locked=True), "keep"),
    ],
)
def test_worktrees(tree: WorktreeSides, action: Action) -> None:
    assert worktrees.reconcile(tree).action == action


@pytest.mark.parametrize(
    ("task", "step"),
    [
        (TaskSides(False, True, True, "passed"), "merge"),
        (TaskSides(False, True, True, "failed"), "work on the issues"),
        (TaskSides(False, True, True, "none"), "resume the work"),
        (TaskSides(False, True, True, "none", finished=True), "check"),
        (TaskSides(False, False, False, "none", gone=True), "merge again"),
        (TaskSides(False, True, False, "none"), "start"),
        (TaskSides(False, False, False, "none"), "make the branch and start"),
        (TaskSides(True, False, False, "none"), "done"),
    ],
)
def test_tasks(task: TaskSides, step: Step) -> None:
    assert tasks.step(task) == step


@given(RECORDED, st.booleans(), st.integers(0, 2), st.booleans(), st.booleans())
def test_a_branch_is_deleted_only_if_git_calls_it_merged_and_nothing_hangs_on_it(
    recorded: Recorded, exists: bool, commits: int, merged: bool, held: bool
) -> None:
    found = branches.reconcile(BranchSides("b", recorded, exists, commits, merged, held))
    assert found.why
    if found.action == "delete":
        assert exists and merged and not held and recorded == "merged"


@given(RECORDED, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_a_worktree_is_removed_only_if_git_calls_it_merged_and_it_is_clean_and_free(
    recorded: Recorded, exists: bool, merged: bool, uncommitted: bool, locked: bool
) -> None:
    found = worktrees.reconcile(WorktreeSides("p", recorded, exists, merged, uncommitted, locked))
    if found.action == "delete":
        assert exists and merged and not uncommitted and not locked and recorded == "merged"
