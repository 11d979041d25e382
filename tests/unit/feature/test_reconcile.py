"""Every row of the three tables, and what may never be deleted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.reconcile import branches, tasks, worktrees
from rekindle.core.reconcile.branches import Action, Branch, Recorded
from rekindle.core.reconcile.tasks import Step, Task
from rekindle.core.reconcile.worktrees import Worktree

RECORDED = st.sampled_from(("merged", "in progress", "skipped", "nothing"))


@pytest.mark.parametrize(
    ("branch", "action"),
    [
        (Branch("b", "merged", True, commits=1, merged=True), "delete"),
        (Branch("b", "merged", False), "nothing"),
        (Branch("b", "in progress", True, commits=2), "go on"),
        (Branch("b", "in progress", True), "start"),
        (Branch("b", "in progress", False), "make again"),
        (Branch("b", "nothing", True, commits=2), "warn"),
        (Branch("b", "skipped", True, commits=2), "keep"),
        (Branch("b", "in progress", True, commits=2, blocked="it is somewhere else"), "blocked"),
        (Branch("b", "in progress", False, blocked="something is in the way"), "blocked"),
        (Branch("b", "merged", True, commits=1), "keep"),
        (Branch("b", "merged", True, commits=1, merged=True, held=True), "keep"),
    ],
)
def test_branches(branch: Branch, action: Action) -> None:
    assert branches.reconcile(branch).action == action


@pytest.mark.parametrize(
    ("tree", "action"),
    [
        (Worktree("p", "merged", True, merged=True), "delete"),
        (Worktree("p", "in progress", True), "go on"),
        (Worktree("p", "in progress", False), "make again"),
        (Worktree("p", "nothing", True), "warn"),
        (Worktree("p", "skipped", True), "keep"),
        (Worktree("p", "in progress", False, blocked="something is in the way"), "blocked"),
        (Worktree("p", "merged", False), "nothing"),
        (Worktree("p", "merged", True), "keep"),
        (Worktree("p", "merged", True, merged=True, uncommitted=True), "keep"),
        (Worktree("p", "merged", True, merged=True, locked=True), "keep"),
    ],
)
def test_worktrees(tree: Worktree, action: Action) -> None:
    assert worktrees.reconcile(tree).action == action


@pytest.mark.parametrize(
    ("task", "step"),
    [
        (Task(False, True, True, "passed"), "merge"),
        (Task(False, True, True, "failed"), "work on the issues"),
        (Task(False, True, True, "none"), "resume the work"),
        (Task(False, True, True, "none", finished=True), "check"),
        (Task(False, False, False, "none", gone=True), "merge again"),
        (Task(False, True, False, "none"), "start"),
        (Task(False, False, False, "none"), "make the branch and start"),
        (Task(True, False, False, "none"), "done"),
    ],
)
def test_tasks(task: Task, step: Step) -> None:
    assert tasks.step(task) == step


@given(RECORDED, st.booleans(), st.integers(0, 2), st.booleans(), st.booleans())
def test_a_branch_is_deleted_only_if_git_calls_it_merged_and_nothing_hangs_on_it(
    recorded: Recorded, exists: bool, commits: int, merged: bool, held: bool
) -> None:
    found = branches.reconcile(Branch("b", recorded, exists, commits, merged, held))
    assert found.why
    if found.action == "delete":
        assert exists and merged and not held and recorded == "merged"


@given(RECORDED, st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_a_worktree_is_removed_only_if_git_calls_it_merged_and_it_is_clean_and_free(
    recorded: Recorded, exists: bool, merged: bool, uncommitted: bool, locked: bool
) -> None:
    found = worktrees.reconcile(Worktree("p", recorded, exists, merged, uncommitted, locked))
    if found.action == "delete":
        assert exists and merged and not uncommitted and not locked and recorded == "merged"
