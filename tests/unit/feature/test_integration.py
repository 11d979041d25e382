"""The integration worktree: every way to resolve a conflict, merges that are given up, what checks leave behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rekindle.adapters.feature_git.git_feature import GitFeature
from rekindle.core.feature.naming import work_branch
from rekindle.ports.errors import GitFailed
from tests.unit.feature.repositories import FEATURE, Repo, make, merges


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make(tmp_path / "repo")


def in_conflict(repo: Repo, *more: str) -> tuple[GitFeature, Path]:
    """A feature with a merge of `b` that conflicts, and the worktree in which it waits."""
    feature = repo.begun("a", "b", *more)
    repo.worked(feature, "a", "same.txt", "one\n")
    repo.worked(feature, "b", "same.txt", "two\n")
    repo.merged(feature, "a")
    assert repo.merged(feature, "b") is None
    return feature, Path(feature.place.integration)


def kept(repo: Repo, notices: tuple[str, ...]) -> str:
    """The only kept ref, which the only notice names."""
    [told] = notices
    [ref] = repo.git("for-each-ref", "--format=%(refname)", "refs/rekindle/kept").splitlines()
    assert ref in told
    return ref


def is_clean(repo: Repo, tree: Path) -> bool:
    at_tip = repo.git("rev-parse", "HEAD", cwd=tree) == repo.git("rev-parse", "feature/shop")
    return at_tip and repo.git("status", "--porcelain", cwd=tree) == ""


def stage(repo: Repo, tree: Path) -> None:
    repo.git("add", "same.txt", cwd=tree)


def commit(repo: Repo, tree: Path) -> None:
    repo.git("commit", "-q", "-m", "resolved", "same.txt", "-i", cwd=tree)


def commit_twice(repo: Repo, tree: Path) -> None:
    commit(repo, tree)
    (tree / "more.txt").write_text("a second thought\n")
    repo.git("add", "more.txt", cwd=tree)
    repo.git("commit", "-q", "-m", "more", cwd=tree)


def merge_anew(repo: Repo, tree: Path) -> None:
    repo.git("merge", "--abort", cwd=tree)
    repo.git("merge", "-q", "-X", "theirs", "--no-commit", "work/shop/b", cwd=tree)
    (tree / "same.txt").write_text("one and two\n")
    commit(repo, tree)


def leave(_repo: Repo, _tree: Path) -> None:
    """Nobody tells git of it."""


@pytest.mark.parametrize("how", [stage, commit, commit_twice, merge_anew, leave])
def test_a_conflict_that_a_person_has_resolved_is_merged_as_they_left_it(
    repo: Repo, how: Callable[[Repo, Path], None]
) -> None:
    feature, tree = in_conflict(repo)
    (tree / "same.txt").write_text("one and two\n")
    (tree / "built.txt").write_text("what a test run leaves lying about")
    how(repo, tree)
    found = repo.seen(feature, "b").merging
    assert found is not None and found.conflicts == () and found.branch_tip == repo.git("rev-parse", "work/shop/b")
    assert repo.merged(feature, "b") == repo.git("rev-parse", "feature/shop")
    assert repo.git("show", "feature/shop:same.txt") == "one and two"
    assert merges(repo.seen(feature, "a", "b")) == {("a", "e1"), ("b", "e1")}
    assert len(repo.git("rev-list", "--first-parent", "main..feature/shop").split()) == 2
    if how is commit_twice:
        assert repo.git("show", "feature/shop:more.txt") == "a second thought"
    assert feature.notices() == ()
    feature.clear_integration()
    assert repo.git("show", f"{kept(repo, feature.notices())}:built.txt") == "what a test run leaves lying about"
    assert not tree.exists()


def test_what_was_staged_counts_and_not_what_the_file_says_since(repo: Repo) -> None:
    feature, tree = in_conflict(repo)
    (tree / "same.txt").write_text("one and two\n")
    stage(repo, tree)
    (tree / "same.txt").write_text("<<<<<<< what was it again\n")
    (tree / "readme.txt").write_text("changed for the merge\n")
    assert repo.merged(feature, "b")
    assert repo.git("show", "feature/shop:same.txt") == "one and two"
    assert repo.git("show", "feature/shop:readme.txt") == "changed for the merge"
    feature.integration()
    assert "what was it again" in repo.git("show", f"{kept(repo, feature.notices())}:same.txt")


def test_committed_conflict_markers_are_no_resolution(repo: Repo) -> None:
    feature, tree = in_conflict(repo)
    repo.git("commit", "-q", "-a", "-m", "looks good", cwd=tree)
    found = repo.seen(feature, "b").merging
    assert found is not None and found.conflicts == ("same.txt",)
    assert repo.merged(feature, "b") is None
    (tree / "same.txt").write_text("one and two\n")
    repo.git("commit", "-q", "-a", "-m", "resolved", cwd=tree)
    assert repo.merged(feature, "b")
    assert repo.git("show", "feature/shop:same.txt") == "one and two"


def test_commits_that_are_no_merge_are_kept_by_a_ref_and_the_conflict_comes_back(repo: Repo) -> None:
    feature, tree = in_conflict(repo)
    repo.git("merge", "--abort", cwd=tree)
    (tree / "mine.txt").write_text("by hand")
    repo.git("add", "mine.txt", cwd=tree)
    repo.git("commit", "-q", "-m", "astray", cwd=tree)
    astray = repo.git("rev-parse", "HEAD", cwd=tree)
    assert repo.merged(feature, "b") is None
    assert repo.git("rev-parse", kept(repo, feature.notices())) == astray


def start_over(repo: Repo, feature: GitFeature) -> None:
    feature.start_over({"b": work_branch(FEATURE, "b")}, "e2", whole=False)
    for ref in repo.git("for-each-ref", "--format=%(refname)", "refs/rekindle/kept").splitlines():
        repo.git("update-ref", "-d", ref)
    feature.prepare("b", work_branch(FEATURE, "b"), "s")
    repo.worked(feature, "b", "same.txt", "one\ntwo\n")


def work_on(repo: Repo, feature: GitFeature) -> None:
    repo.git("merge", "-q", "-s", "ours", "feature/shop", cwd=feature.tree_of("b", "work/shop/b"))


def move_feature(repo: Repo, _feature: GitFeature) -> None:
    made = repo.git("commit-tree", "-m", "by hand", "-p", "feature/shop", "main^{tree}")
    repo.git("branch", "-f", "feature/shop", made)


@pytest.mark.parametrize("how", [start_over, work_on, move_feature])
def test_a_merge_that_is_not_due_any_more_is_kept_with_what_was_resolved_of_it_and_undone(
    repo: Repo, how: Callable[[Repo, GitFeature], None]
) -> None:
    feature, tree = in_conflict(repo)
    (tree / "same.txt").write_text("<<<<<<< half resolved\n")
    (tree / "new.txt").write_text("a file of the resolution\n")
    old = repo.git("rev-parse", "MERGE_HEAD", cwd=tree)
    how(repo, feature)
    assert repo.merged(feature, "b") == repo.git("rev-parse", "feature/shop")
    ref = kept(repo, feature.notices())
    assert repo.git("show", f"{ref}:same.txt") == "<<<<<<< half resolved"
    assert repo.git("show", f"{ref}:new.txt") == "a file of the resolution"
    assert old in repo.git("rev-list", "--parents", "--max-count=1", ref).split()
    assert is_clean(repo, tree)


def test_a_merge_that_was_given_up_does_not_hold_up_another_task(repo: Repo) -> None:
    feature, tree = in_conflict(repo, "c")
    repo.worked(feature, "c")
    assert repo.merged(feature, "c") == repo.git("rev-parse", "feature/shop")
    assert "<<<<<<<" in repo.git("show", f"{kept(repo, feature.notices())}:same.txt")
    assert is_clean(repo, tree)


def test_what_was_staged_and_what_the_files_say_are_both_kept(repo: Repo) -> None:
    feature, tree = in_conflict(repo, "c")
    (tree / "same.txt").write_text("staged\n")
    stage(repo, tree)
    (tree / "same.txt").write_text("written later\n")
    feature.integration()
    ref = kept(repo, feature.notices())
    assert repo.git("show", f"{ref}:same.txt") == "written later"
    parents = repo.git("rev-list", "--parents", "--max-count=1", ref).split()[1:]
    assert "staged" in [repo.git("show", f"{one}:same.txt") for one in parents]


def test_what_a_waves_checks_leave_behind_is_kept_once_and_in_nobodys_way(repo: Repo) -> None:
    feature = repo.begun("a", "b")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    tree = Path(feature.integration())
    (tree / "b.txt").write_text("made by a check\n")
    (tree / "a.txt").write_text("changed by a check\n")
    feature.keep_left(1)
    ref = kept(repo, feature.notices())
    assert "wave-1" in ref
    assert (tree / "b.txt").exists(), "who looks into a failed check finds what it left"
    repo.worked(feature, "b")
    assert repo.merged(feature, "b") == repo.git("rev-parse", "feature/shop")
    assert feature.notices() == (), "it was told of before"
    assert repo.git("show", f"{ref}:b.txt") == "made by a check"
    assert repo.git("show", f"{ref}:a.txt") == "changed by a check"
    assert repo.git("show", "feature/shop:b.txt") == "x" and repo.git("show", "feature/shop:a.txt") == "x"
    (tree / "late.txt").write_text("")
    feature.integration()
    assert is_clean(repo, tree) and len(feature.notices()) == 1


def test_the_reason_of_a_merge_that_git_refuses_names_the_files(repo: Repo) -> None:
    feature = repo.begun("a", "b")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    Path(feature.tree_of("b", "work/shop/b"), "inner").mkdir()
    repo.worked(feature, "b", "inner/file.txt")
    inner = Path(feature.integration(), "inner")
    inner.mkdir()
    repo.git("init", "-q", cwd=inner)
    (inner / "file.txt").write_text("in a repository of its own\n")
    with pytest.raises(GitFailed, match=r"overwritten by merge: inner/file\.txt"):
        repo.merged(feature, "b")
    assert (inner / "file.txt").read_text() == "in a repository of its own\n"


def test_the_worktree_that_tasks_have_shared_goes_with_the_last_of_them(repo: Repo) -> None:
    feature = repo.feature(shared=True)
    feature.make_feature("")
    feature.prepare("a", "work/shop/a", "s")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    feature.clear("a", "work/shop/a")
    feature.clear_integration()
    assert not os.path.exists(feature.tree_of("a", "work/shop/a")) and not os.path.exists(feature.place.trees)
    assert feature.notices() == ()


def test_a_shared_worktree_with_work_that_nobody_merged_stays(repo: Repo) -> None:
    feature = repo.feature(shared=True)
    feature.make_feature("")
    feature.prepare("a", "work/shop/a", "s")
    Path(feature.tree_of("a", "work/shop/a"), "late.txt").write_text("not committed")
    feature.clear_integration()
    assert Path(feature.tree_of("a", "work/shop/a"), "late.txt").exists()
    [told] = feature.notices()
    assert "it is kept" in told
