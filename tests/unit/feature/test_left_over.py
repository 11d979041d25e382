"""What is left of a task, in real repositories: what is said of it is true, and the command that is printed works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from rekindle.core.feature.left_over import only_there, removal
from rekindle.core.feature.naming import work_branch
from tests.unit.feature import repositories
from tests.unit.feature.repositories import FEATURE, Repo

BRANCH = work_branch(FEATURE, "a")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return repositories.make(tmp_path / "it's a repo")


def type_in(repo: Repo, command: str) -> None:
    """What a person does with a printed command: `sh` reads it, and stops at what fails."""
    for step in command.split(" && "):
        words = shlex.split(step)
        assert words[0] == "git"
        repo.git(*words[1:])


@pytest.mark.parametrize("how", ["nothing", "commits", "changes", "both", "locked", "elsewhere", "no worktree"])
def test_the_command_deletes_the_branch_and_its_worktree(repo: Repo, tmp_path: Path, how: str) -> None:
    feature = repo.begun("a")
    tree = Path(feature.tree_of("a", BRANCH))
    if how in ("commits", "both", "elsewhere", "no worktree"):
        repo.worked(feature, "a")
    if how in ("changes", "both"):
        (tree / "late.txt").write_text("in no commit")
    if how == "locked":
        repo.git("worktree", "lock", str(tree))
    if how in ("elsewhere", "no worktree"):
        repo.git("worktree", "remove", str(tree))
    if how == "elsewhere":
        repo.git("worktree", "add", "-q", str(tmp_path / "mine"), BRANCH)
    users = repo.checkout()
    seen = repo.seen(feature, "a")
    said = " and ".join(only_there(seen, seen.branches[BRANCH]))
    has_commits = how in ("commits", "both", "elsewhere", "no worktree")
    assert (f"1 commit that is not merged into feature/{FEATURE}" in said) is has_commits
    assert ("changes that are not committed" in said) is (how in ("changes", "both"))
    type_in(repo, removal(seen, seen.branches[BRANCH]))
    assert repo.git("branch", "--list", BRANCH) == "" and not tree.exists()
    assert repo.checkout() == users


def test_a_merged_branch_is_deleted_although_the_user_has_not_merged_the_feature(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    seen = repo.seen(feature, "a")
    assert only_there(seen, seen.branches[BRANCH]) == ()
    type_in(repo, removal(seen, seen.branches[BRANCH]))
    assert repo.git("branch", "--list", BRANCH) == ""
