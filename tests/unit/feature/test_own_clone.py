"""A feature without worktrees: its clone and the user's repository are kept the same, and neither loses anything."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rekindle.adapters.feature_git import own_clone
from rekindle.adapters.feature_git.orphans import orphans
from rekindle.adapters.git import repository
from rekindle.core.feature.naming import work_branch
from rekindle.ports.errors import FeatureBlocked
from tests.unit.feature.repositories import FEATURE, Repo, make

A, B = work_branch(FEATURE, "a"), work_branch(FEATURE, "b")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make(tmp_path)


def clone_of(repo: Repo) -> Path:
    return Path(own_clone.path_of(str(repo.root / ".git"), FEATURE))


def worktrees(repo: Repo) -> int:
    return len(repo.git("worktree", "list").splitlines())


def test_tasks_are_worked_in_turn_merged_in_the_users_repository_and_the_clone_goes_at_the_end(repo: Repo) -> None:
    before = repo.checkout()
    feature = repo.cloned()
    feature.make_feature("")
    for task in ("a", "b"):
        feature.prepare(task, work_branch(FEATURE, task), "s")
        tip = repo.worked(feature, task)
        assert worktrees(repo) == 1, "the repository itself has none but the user's checkout"
        assert repo.git("rev-parse", work_branch(FEATURE, task)) == tip
        merged = repo.merged(feature, task)
        assert merged is not None and repo.git("rev-parse", f"feature/{FEATURE}") == merged
        feature.clear(task, work_branch(FEATURE, task))
        assert repo.git("branch", "--list", work_branch(FEATURE, task)) == ""
    assert {"a.txt", "b.txt"} <= set(repo.git("ls-tree", "--name-only", f"feature/{FEATURE}").splitlines())
    feature.clear_integration()
    assert not clone_of(repo).exists() and not Path(feature.place.trees).exists()
    assert repo.git("fsck", "--strict", "--no-dangling") == ""
    assert repo.checkout() == before


def test_who_works_in_the_clone_works_for_the_repository(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    found = repository.find(feature.tree_of("a", A))
    assert found is not None
    assert (found.root, found.common) == (str(repo.root), str(clone_of(repo)))
    assert found.feature == FEATURE, "so that hooks and `rekindle track` find the journal"


def test_the_next_process_finds_what_a_killed_one_had_not_given_out(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    with monkeypatch.context() as killed:
        killed.setattr(own_clone, "give_out", lambda *_: None)
        Path(feature.tree_of("a", A), "a.txt").write_text("work")
        feature.commit("a", A, "work")
    inside = repo.git("rev-parse", A, cwd=clone_of(repo))
    assert repo.git("rev-parse", A) != inside
    again = repo.cloned()
    assert repo.seen(again, "a").branches[A].tip == inside
    merged = again.merge("a", A, inside, "e1", "Merge a").commit
    assert repo.git("rev-parse", A) == inside and repo.git("rev-parse", f"feature/{FEATURE}") == merged


def test_a_clone_that_is_deleted_loses_no_commit_and_is_made_again(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    tip = repo.worked(feature, "a")
    shutil.rmtree(clone_of(repo))
    shutil.rmtree(feature.place.trees)
    again = repo.cloned()
    assert repo.seen(again, "a").branches[A].tip == tip
    again.prepare("a", A, "s")
    assert Path(again.tree_of("a", A), "a.txt").exists() and repo.merged(again, "a") is not None


def test_a_commit_of_the_users_on_the_features_branch_is_built_upon(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    tip = repo.worked(feature, "a")
    tree = repo.git("rev-parse", f"feature/{FEATURE}^{{tree}}")
    theirs = repo.git("commit-tree", "-p", f"feature/{FEATURE}", "-m", "by hand", tree)
    repo.git("update-ref", f"refs/heads/feature/{FEATURE}", theirs)
    merged = feature.merge("a", A, tip, "e1", "Merge a").commit
    assert merged is not None
    assert repo.git("merge-base", "--is-ancestor", theirs, f"feature/{FEATURE}") == ""


def test_a_work_branch_that_the_user_moves_under_an_agent_is_kept_and_told(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    repo.worked(feature, "a")
    tree = repo.git("rev-parse", "main^{tree}")
    theirs = repo.git("commit-tree", "-p", "main", "-m", "mine", tree)
    repo.git("update-ref", f"refs/heads/{A}", theirs)
    tip = repo.worked(feature, "a", "more.txt")
    assert repo.git("rev-parse", A) == tip
    [told] = [one for one in feature.notices() if "was moved" in one]
    assert repo.git("rev-parse", told.rpartition(" ")[2]) == theirs


def test_a_branch_that_is_deleted_in_the_repository_or_in_the_clone_comes_back(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    tip = repo.worked(feature, "a")
    repo.git("branch", "-D", A)
    feature.prepare("a", A, "s")
    assert repo.git("rev-parse", A) == tip
    repo.git("update-ref", "-d", f"refs/heads/{A}", cwd=clone_of(repo))
    feature.prepare("a", A, "s")
    assert repo.git("rev-parse", A) == tip == repo.git("rev-parse", A, cwd=clone_of(repo))


def test_starting_over_keeps_the_old_tip_in_the_users_repository(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    tip = repo.worked(feature, "a")
    repo.seen(feature, "a")
    kept = feature.start_over({"a": A}, "e2", whole=False).kept
    assert repo.git("rev-parse", kept[A]) == tip
    assert repo.git("branch", "--list", A) == ""


def test_the_features_branch_is_not_moved_while_the_user_has_it_checked_out(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    tip = repo.worked(feature, "a")
    repo.git("worktree", "add", "-q", str(repo.root.parent / "mine"), f"feature/{FEATURE}")
    assert repo.seen(feature, "a").elsewhere == str(repo.root.parent / "mine")
    with pytest.raises(FeatureBlocked, match="is checked out in"):
        feature.merge("a", A, tip, "e1", "Merge a")


def test_work_that_is_left_out_keeps_the_clone_and_the_doctor_knows_a_clone_of_no_feature(repo: Repo) -> None:
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    Path(feature.tree_of("a", A), "late.txt").write_text("nobody has this")
    feature.clear_integration()
    assert clone_of(repo).is_dir() and Path(feature.tree_of("a", A), "late.txt").exists()
    assert any("is kept" in one for one in feature.notices())
    top = os.path.dirname(feature.place.trees)
    assert not [one for one in orphans(str(repo.root), top, {A}, {FEATURE}) if "clone" in one.what]
    [orphan] = [one for one in orphans(str(repo.root), top, {A}, set()) if "clone" in one.what]
    assert str(clone_of(repo)) in orphan.what and "uncommitted changes" in orphan.what


def test_one_who_is_killed_while_making_the_clone_leaves_nothing_in_the_way(repo: Repo) -> None:
    half = Path(f"{clone_of(repo)}.new")
    half.mkdir(parents=True)
    (half / "HEAD").write_text("half")
    feature = repo.cloned()
    feature.make_feature("")
    feature.prepare("a", A, "s")
    assert clone_of(repo).is_dir() and not half.exists()
