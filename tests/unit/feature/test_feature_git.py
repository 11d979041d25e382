"""Branches, worktrees and merges of a feature in real repositories; the user's checkout stays as it is."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rekindle.adapters.feature_git.git_feature import GitFeature, Worktrees
from rekindle.adapters.feature_git.orphans import orphans
from rekindle.adapters.feature_git.place import Move
from rekindle.adapters.git import repository
from rekindle.adapters.snapshots import taking
from rekindle.core.feature.naming import done_ref, work_branch
from rekindle.core.feature.progress import TaskProgress
from rekindle.ports.errors import FeatureBlocked, GitFailed, RekindleError
from tests.unit.feature.repositories import FEATURE, Repo, make, merges


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make(tmp_path / "repo")


def test_a_task_from_its_branch_to_its_merge_leaves_the_users_checkout_alone(repo: Repo) -> None:
    before = repo.checkout()
    feature = repo.begun("a", "b")
    assert repo.seen(feature, "a").branches["work/shop/a"].commits == 0
    tip = repo.worked(feature, "a")
    seen = repo.seen(feature, "a", "b")
    assert seen.branches["work/shop/a"].commits == 1 and not seen.branches["work/shop/a"].merged
    commit = repo.merged(feature, "a")
    seen = repo.seen(feature, "a", "b")
    assert seen.tip == commit and seen.branches["work/shop/a"].merged and seen.branches["work/shop/a"].tip == tip
    assert merges(seen) == {("a", "e1")}
    assert not seen.branches["work/shop/b"].commits
    cleared = feature.clear("a", "work/shop/a")
    assert cleared.deleted_branch == "work/shop/a" and not os.path.exists(feature.tree_of("a", "work/shop/a"))
    assert merges(repo.seen(feature, "a")) == {("a", "e1")}
    feature.clear_integration()
    assert repo.checkout() == before
    assert repo.git("show", "feature/shop:a.txt") == "x"


def test_everything_may_be_asked_for_twice(repo: Repo) -> None:
    feature = repo.begun("a")
    feature.make_feature("")
    assert not feature.prepare("a", "work/shop/a", "s").made_tree
    repo.worked(feature, "a")
    feature.commit("a", "work/shop/a", "again")
    assert repo.seen(feature, "a").branches["work/shop/a"].commits == 1
    repo.merged(feature, "a")
    feature.clear("a", "work/shop/a")
    assert feature.clear("a", "work/shop/a").kept == ()


def test_a_merged_branch_with_uncommitted_work_is_kept_with_its_worktree(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    Path(feature.tree_of("a", "work/shop/a"), "late.txt").write_text("not committed")
    cleared = feature.clear("a", "work/shop/a")
    assert cleared.removed_tree is None and cleared.deleted_branch is None
    assert any("uncommitted" in sentence for sentence in cleared.kept)
    assert Path(feature.tree_of("a", "work/shop/a"), "late.txt").exists()


def test_a_branch_that_only_the_journal_calls_merged_is_kept(repo: Repo) -> None:
    feature = repo.begun("a")
    tip = repo.worked(feature, "a")
    cleared = feature.clear("a", "work/shop/a")
    assert cleared.deleted_branch is None and repo.git("rev-parse", "work/shop/a") == tip


def test_a_locked_worktree_is_kept(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    repo.git("worktree", "lock", feature.tree_of("a", "work/shop/a"))
    assert any("locked" in sentence for sentence in feature.clear("a", "work/shop/a").kept)
    assert os.path.isdir(feature.tree_of("a", "work/shop/a"))


def test_a_lost_worktree_comes_back_with_what_only_a_snapshot_had(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    Path(feature.tree_of("a", "work/shop/a"), "half.txt").write_text("half done")
    taking.take(feature.tree_of("a", "work/shop/a"), "s", "a turn is running", 1.0)
    shutil.rmtree(feature.tree_of("a", "work/shop/a"))
    assert repo.seen(feature, "a").trees == {}
    prepared = feature.prepare("a", "work/shop/a", "s")
    assert prepared.made_tree and prepared.made_branch is None and prepared.restored is not None
    assert Path(feature.tree_of("a", "work/shop/a"), "half.txt").read_text() == "half done"


def test_a_lost_branch_is_made_again_from_the_feature(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    shutil.rmtree(feature.tree_of("a", "work/shop/a"))
    repo.git("worktree", "prune")
    repo.git("branch", "-D", "work/shop/a")
    prepared = feature.prepare("a", "work/shop/a", "s")
    assert prepared.made_branch == repo.git("rev-parse", "feature/shop")
    assert repo.seen(feature, "a").branches["work/shop/a"].commits == 0


def test_a_branch_that_is_checked_out_elsewhere_is_not_taken_away(repo: Repo, tmp_path: Path) -> None:
    feature = repo.begun()
    repo.git("worktree", "add", "-q", "-b", "work/shop/a", str(tmp_path / "mine"))
    with pytest.raises(FeatureBlocked, match="is checked out in"):
        feature.prepare("a", "work/shop/a", "s")
    assert repo.seen(feature, "a").branches["work/shop/a"].elsewhere == str(tmp_path / "mine")


def test_the_feature_branch_is_not_moved_under_the_user(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    repo.git("switch", "-q", "feature/shop")
    before = repo.checkout()
    with pytest.raises(FeatureBlocked) as caught:
        repo.merged(feature, "a")
    assert "switch --detach" in caught.value.hint
    assert repo.checkout() == before
    assert repo.seen(feature, "a").elsewhere == str(repo.root)
    repo.git("switch", "-q", "--detach")
    assert repo.merged(feature, "a")


def test_somebody_elses_folder_is_not_used(repo: Repo) -> None:
    feature = repo.begun()
    os.makedirs(feature.tree_of("a", "work/shop/a"))
    Path(feature.tree_of("a", "work/shop/a"), "mine").write_text("x")
    with pytest.raises(FeatureBlocked, match="in the way"):
        feature.prepare("a", "work/shop/a", "s")


def test_a_detached_head_without_commits_of_its_own_goes_back_to_its_branch(repo: Repo) -> None:
    feature = repo.begun("a")
    tree = feature.tree_of("a", "work/shop/a")
    repo.git("switch", "-q", "--detach", cwd=tree)
    feature.prepare("a", "work/shop/a", "s")
    assert repo.git("branch", "--show-current", cwd=tree) == "work/shop/a"


def test_commits_on_a_detached_head_are_kept_before_the_worktree_goes_back_to_its_branch(repo: Repo) -> None:
    feature = repo.begun("a")
    tree = feature.tree_of("a", "work/shop/a")
    repo.git("switch", "-q", "--detach", cwd=tree)
    Path(tree, "astray.txt").write_text("x")
    repo.git("add", "astray.txt", cwd=tree)
    repo.git("commit", "-q", "-m", "astray", cwd=tree)
    astray = repo.git("rev-parse", "HEAD", cwd=tree)
    assert not feature.prepare("a", "work/shop/a", "s").made_tree
    assert repo.git("branch", "--show-current", cwd=tree) == "work/shop/a"
    assert astray in repo.git("for-each-ref", "refs/rekindle/kept/shop")
    assert [one.commit for one in repo.seen(feature, "a").strays["a"]] == [astray]


def test_a_locked_worktree_that_is_gone_or_to_be_started_over_is_left_to_a_person(repo: Repo) -> None:
    feature = repo.begun("a")
    tip = repo.worked(feature, "a")
    tree = feature.tree_of("a", "work/shop/a")
    repo.git("worktree", "lock", "--reason", "on a stick", tree)
    with pytest.raises(FeatureBlocked, match="is locked") as caught:
        feature.start_over({"a": "work/shop/a"}, "e2", whole=False)
    assert f"git worktree unlock {tree}" in caught.value.hint and os.path.isdir(tree)
    shutil.rmtree(tree)
    with pytest.raises(FeatureBlocked, match="gone, but locked \\(on a stick\\)") as caught:
        feature.prepare("a", "work/shop/a", "s")
    assert f"git worktree unlock {tree}" in caught.value.hint
    repo.git("worktree", "unlock", tree)
    assert feature.prepare("a", "work/shop/a", "s").made_tree
    assert repo.git("rev-parse", "HEAD", cwd=tree) == tip


def test_a_missing_feature_branch_comes_back_at_our_last_merge(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    commit = repo.merged(feature, "a")
    feature.clear_integration()
    repo.git("branch", "-D", "feature/shop")
    assert feature.make_feature("") == commit
    assert merges(repo.seen(feature, "a")) == {("a", "e1")}


def test_where_a_feature_begins_is_not_forgotten_when_its_run_is_cut_before_its_branch_is_made(repo: Repo) -> None:
    first = repo.git("rev-parse", "main")
    repo.git("commit", "-q", "--allow-empty", "-m", "later")
    repo.feature().choose_base("main~1")
    assert repo.feature().make_feature("") == first == repo.git("rev-parse", "feature/shop")
    with pytest.raises(FeatureBlocked, match="no commit 'nowhere'"):
        make(repo.root.with_name("other")).feature().choose_base("nowhere")


def test_a_feature_that_is_begun_again_after_its_branch_was_deleted_begins_where_it_is_told(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    merged = repo.merged(feature, "a")
    feature.clear_integration()
    repo.git("branch", "-D", "feature/shop")
    feature.choose_base("main")
    assert feature.make_feature("main") == repo.git("rev-parse", "main")
    assert str(merged) in repo.git("for-each-ref", "refs/rekindle/kept/shop")


def test_a_rewritten_feature_branch_is_noticed(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    assert not repo.seen(feature, "a").rewritten
    repo.git("branch", "-f", "feature/shop", "main")
    assert repo.seen(feature, "a").rewritten


def test_a_repository_without_a_commit_says_so(tmp_path: Path) -> None:
    empty = Repo(tmp_path)
    empty.git("init", "-q")
    with pytest.raises(RekindleError, match="no commit yet"):
        empty.feature().make_feature("")


def test_a_bare_repository_can_have_features(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--bare", str(repo.root), str(tmp_path / "bare.git"))
    found = repository.find(str(tmp_path / "bare.git"))
    assert found is not None
    feature = GitFeature(found, FEATURE, Worktrees())
    feature.make_feature("main")
    feature.prepare("a", "work/shop/a", "s")
    Path(feature.tree_of("a", "work/shop/a"), "a.txt").write_text("x")
    feature.commit("a", "work/shop/a", "work")
    tip = feature.observe({"a": TaskProgress("e", "work/shop/a")}).branches["work/shop/a"].tip
    assert feature.merge("a", "work/shop/a", tip, "e1", "Merge a").commit
    assert feature.clear("a", "work/shop/a").deleted_branch


def test_a_conflict_waits_in_the_integration_worktree_and_is_finished_there(repo: Repo) -> None:
    feature = repo.begun("a", "b")
    repo.worked(feature, "a", "same.txt", "one\n")
    repo.worked(feature, "b", "same.txt", "two\n")
    repo.merged(feature, "a")
    assert repo.merged(feature, "b") is None
    seen = repo.seen(feature, "a", "b")
    assert seen.merging is not None and seen.merging.conflicts == ("same.txt",)
    assert repo.merged(feature, "b") is None
    Path(feature.place.integration, "same.txt").write_text("one and two\n")
    resolved = repo.seen(feature, "b").merging
    assert resolved is not None and resolved.conflicts == ()
    assert repo.merged(feature, "b")
    assert repo.git("show", "feature/shop:same.txt") == "one and two"
    assert merges(repo.seen(feature, "a", "b")) == {("a", "e1"), ("b", "e1")}


def test_a_file_that_one_side_removed_is_not_called_resolved_unasked(repo: Repo) -> None:
    feature = repo.begun("a", "b")
    repo.worked(feature, "a", "readme.txt", "changed\n")
    os.unlink(Path(feature.tree_of("b", "work/shop/b"), "readme.txt"))
    feature.commit("b", work_branch(FEATURE, "b"), "remove")
    repo.merged(feature, "a")
    assert repo.merged(feature, "b") is None
    merging = repo.seen(feature, "b").merging
    assert merging is not None and merging.conflicts == ("readme.txt",)


def test_starting_over_keeps_the_old_tips(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    Path(feature.tree_of("a", "work/shop/a"), "late.txt").write_text("not committed")
    kept = feature.start_over({"a": "work/shop/a"}, "e2", whole=False).kept
    assert repo.git("show", f"{kept['work/shop/a']}:late.txt") == "not committed"
    assert not os.path.exists(feature.tree_of("a", "work/shop/a"))
    feature.prepare("a", "work/shop/a", "s")
    assert repo.seen(feature, "a").branches["work/shop/a"].commits == 0


def test_starting_over_as_a_whole_puts_the_feature_back_unless_it_has_other_commits(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    merged = repo.merged(feature, "a")
    feature.clear_integration()
    kept = feature.start_over({"a": "work/shop/a"}, "e2", whole=True).kept
    assert repo.git("rev-parse", "feature/shop") == repo.git("rev-parse", "main")
    assert repo.git("rev-parse", kept["feature/shop"]) == merged
    other = repo.git("commit-tree", "-m", "the user's", "-p", "main", "main^{tree}")
    repo.git("branch", "-f", "feature/shop", other)
    assert "feature/shop" not in feature.start_over({}, "e3", whole=True).kept
    assert repo.git("rev-parse", "feature/shop") == other


def test_a_worktree_that_git_had_only_begun_is_made_anew_and_nothing_of_it_is_committed(repo: Repo) -> None:
    feature = repo.begun("a")
    tree = feature.tree_of("a", "work/shop/a")
    repo.git("worktree", "lock", "--reason", "initializing", tree)
    os.unlink(Path(tree, "readme.txt"))
    assert repo.seen(feature, "a").trees == {}
    assert feature.prepare("a", "work/shop/a", "s").made_tree
    assert Path(tree, "readme.txt").exists()


def test_orphans_are_named_with_the_command_that_would_remove_them_and_left_alone(repo: Repo) -> None:
    feature = repo.begun("a", "b")
    repo.worked(feature, "b")
    Path(feature.tree_of("b", "work/shop/b"), "late.txt").write_text("x")
    feature.integration()
    top = os.path.dirname(feature.place.trees)
    tree = feature.tree_of("b", "work/shop/b")
    found = {one.what: one.remove for one in orphans(str(repo.root), top, {"work/shop/a"}, {FEATURE})}
    assert found == {
        f"worktree {tree} (with uncommitted changes)": f"git worktree remove {tree}",
        "branch work/shop/b (1 commits that HEAD lacks, checked out)": "git branch -D work/shop/b",
    }
    assert os.path.isdir(feature.tree_of("b", "work/shop/b"))


def test_one_worktree_can_serve_all_tasks_in_turn(repo: Repo) -> None:
    feature = repo.feature(shared=True)
    feature.make_feature("")
    for task in ("a", "b"):
        feature.prepare(task, work_branch(FEATURE, task), "s")
        repo.worked(feature, task)
        assert repo.merged(feature, task)
        feature.clear(task, work_branch(FEATURE, task))
    assert merges(repo.seen(feature, "a", "b")) == {("a", "e1"), ("b", "e1")}
    assert repo.seen(feature, "a", "b").branches == {}


@pytest.mark.parametrize("instead", ["nothing", "a repository", "the user's"])
def test_a_worktree_whose_git_file_is_gone_never_stands_for_the_users_checkout(repo: Repo, instead: str) -> None:
    feature = repo.begun("a")
    before = repo.checkout()
    tree = Path(feature.tree_of("a", "work/shop/a"))
    (tree / "a.txt").write_text("work")
    (tree / ".git").unlink()
    if instead == "a repository":
        repo.git("init", "-q", cwd=tree)
    elif instead == "the user's":
        (tree / ".git").write_text(f"gitdir: {repo.root}/.git")
    assert repo.seen(feature, "a").trees == {}
    with pytest.raises(FeatureBlocked, match="no worktree of this repository any more"):
        feature.commit("a", "work/shop/a", "not here")
    if instead == "a repository":
        with pytest.raises(FeatureBlocked, match="no worktree of this repository any more"):
            feature.prepare("a", "work/shop/a", "s")
    else:
        feature.prepare("a", "work/shop/a", "s")
        feature.commit("a", "work/shop/a", "here")
        assert repo.git("show", "work/shop/a:a.txt") == "work"
    assert repo.checkout() == before


def test_a_worktree_that_was_removed_under_its_agent_is_not_taken_for_one_that_deletes_everything(repo: Repo) -> None:
    feature = repo.begun("a")
    tree = Path(feature.tree_of("a", "work/shop/a"))
    shutil.rmtree(tree)
    tree.mkdir()
    (tree / "late.txt").write_text("written after that")
    with pytest.raises(FeatureBlocked, match="removed the files"):
        feature.prepare("a", "work/shop/a", "s")
    assert repo.seen(feature, "a").trees == {}
    tree.rename(tree.with_name("aside"))
    assert feature.prepare("a", "work/shop/a", "s").made_tree
    assert (tree / "readme.txt").exists()


def test_an_integration_worktree_without_its_git_file_never_stands_for_the_users_checkout(repo: Repo) -> None:
    feature = repo.begun("a")
    before = repo.checkout()
    repo.worked(feature, "a")
    Path(feature.integration(), ".git").unlink()
    assert repo.merged(feature, "a") is not None
    Path(feature.integration(), ".git").unlink()
    feature.clear_integration()
    assert repo.checkout() == before


@pytest.mark.parametrize("is_filled", [False, True])
def test_a_worktree_with_a_submodule_is_removed_unless_somebody_may_have_committed_in_that(
    repo: Repo, tmp_path: Path, is_filled: bool
) -> None:
    inner = make(tmp_path / "inner")
    allowed = ("-c", "protocol.file.allow=always", "submodule")
    repo.git(*allowed, "add", "-q", str(inner.root), "inner")
    repo.git("commit", "-q", "-m", "with a submodule", "inner", ".gitmodules")
    feature = repo.begun("a")
    repo.worked(feature, "a")
    if is_filled:
        repo.git(*allowed, "update", "-q", "--init", cwd=feature.tree_of("a", "work/shop/a"))
    assert repo.merged(feature, "a") is not None
    cleared = feature.clear("a", "work/shop/a")
    feature.clear_integration()
    assert bool(cleared.kept) is is_filled is os.path.isdir(feature.tree_of("a", "work/shop/a"))
    assert (cleared.deleted_branch is None) is is_filled


@pytest.mark.parametrize("name", ["feature", "work"])
def test_a_branch_that_is_called_like_our_folder_is_named_with_the_remedy(repo: Repo, name: str) -> None:
    repo.git("branch", name)
    with pytest.raises(FeatureBlocked, match=f"refs/heads/{name}' exists") as caught:
        repo.begun("a")
    assert "git branch -m" in caught.value.hint


def test_conflicts_that_an_agent_left_are_told_and_changes_inside_a_submodule_are_none_of_ours(
    repo: Repo, tmp_path: Path
) -> None:
    inner = make(tmp_path / "inner")
    allowed = ("-c", "protocol.file.allow=always", "submodule")
    repo.git(*allowed, "add", "-q", str(inner.root), "inner")
    repo.git("commit", "-q", "-m", "with a submodule", "inner", ".gitmodules")
    feature = repo.begun("a")
    tree = Path(feature.tree_of("a", "work/shop/a"))
    repo.git(*allowed, "update", "-q", "--init", cwd=tree)
    (tree / "inner" / "new.txt").write_text("x")
    [seen] = repo.seen(feature, "a").trees.values()
    assert not seen.uncommitted
    repo.worked(feature, "a", "same.txt", "one\n")
    repo.git("checkout", "-q", "-b", "other", "main", cwd=tree)
    (tree / "same.txt").write_text("two\n")
    repo.git("add", "same.txt", cwd=tree)
    repo.git("commit", "-q", "-m", "two", cwd=tree)
    repo.git("checkout", "-q", "work/shop/a", cwd=tree)
    with pytest.raises(subprocess.CalledProcessError):
        repo.git("merge", "-q", "other", cwd=tree)
    [seen] = repo.seen(feature, "a").trees.values()
    assert seen.uncommitted and seen.conflicts == ("same.txt",)


def test_worktrees_can_be_made_side_by_side(repo: Repo) -> None:
    names = [f"t{number}" for number in range(60)]
    repo.begun()
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda name: repo.feature().prepare(name, work_branch(FEATURE, name), "s"), names))
    assert all(one.made_tree for one in made)


def test_a_merge_of_nothing_is_an_error_and_no_loop(repo: Repo) -> None:
    feature = repo.begun("a")
    with pytest.raises(GitFailed, match="nothing"):
        repo.merged(feature, "a")


def refs_of(repo: Repo) -> dict[str, str]:
    """Where the branch of the feature is, and what we remember of its merges."""
    listed = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/feature", "refs/rekindle")
    wanted = ("refs/heads/feature/", "refs/rekindle/merged/", "refs/rekindle/done/")
    return {
        name: commit
        for name, _, commit in (line.partition(" ") for line in listed.splitlines())
        if name.startswith(wanted)
    }


def test_a_merge_is_remembered_with_the_branch_that_it_moves(repo: Repo) -> None:
    feature = repo.begun("a")
    repo.worked(feature, "a")
    made = repo.merged(feature, "a")
    assert made is not None
    assert refs_of(repo) == {
        "refs/heads/feature/shop": made,
        "refs/rekindle/merged/shop": made,
        "refs/rekindle/done/shop/a": made,
    }
    assert repo.merged(feature, "a") == made, "a merge that was made is not made again"


def test_refs_that_are_moved_together_stay_where_they_are_if_one_of_them_has_moved(repo: Repo) -> None:
    feature = repo.begun("a")
    before, began = refs_of(repo), repo.git("rev-parse", "feature/shop")
    tip = repo.worked(feature, "a")
    with pytest.raises(GitFailed, match="'refs/heads/feature/shop': is at"):
        feature.place.move(
            Move("refs/rekindle/merged/shop", tip),
            Move("refs/heads/feature/shop", tip, old=tip),
            Move(done_ref(FEATURE, "a"), tip),
        )
    assert refs_of(repo) == before
    feature.place.move(Move("refs/heads/feature/shop", tip, old=began), Move(done_ref(FEATURE, "a"), tip, old=None))
    assert refs_of(repo) == {"refs/heads/feature/shop": tip, "refs/rekindle/done/shop/a": tip}


def test_a_merge_whose_maker_was_killed_between_its_refs_is_not_made_twice(repo: Repo) -> None:
    feature = repo.begun("a", "b")
    repo.worked(feature, "a")
    repo.worked(feature, "b")
    first = repo.merged(feature, "a")
    second = repo.merged(feature, "b")
    assert first is not None and second is not None
    repo.git("update-ref", "refs/rekindle/merged/shop", first)
    assert repo.merged(feature, "b") == second
    assert refs_of(repo)["refs/rekindle/merged/shop"] == refs_of(repo)["refs/heads/feature/shop"] == second


@pytest.mark.parametrize("how", ["fast-forward", "merge", "merged and went on"])
def test_work_that_somebody_else_has_merged_gets_a_merge_commit_of_ours(repo: Repo, how: str) -> None:
    feature = repo.begun("a", "b")
    tip = repo.worked(feature, "a")
    if how == "fast-forward":
        repo.git("push", "-q", ".", "work/shop/a:feature/shop")
    else:
        theirs = repo.git("commit-tree", "-m", "theirs", "-p", "feature/shop", "-p", tip, f"{tip}^{{tree}}")
        if how == "merged and went on":
            theirs = repo.git("commit-tree", "-m", "more", "-p", theirs, "main^{tree}")
        repo.git("branch", "-f", "feature/shop", theirs)
    before = repo.git("rev-parse", "feature/shop")
    made = repo.merged(feature, "a")
    assert made == repo.git("rev-parse", "feature/shop") == refs_of(repo)["refs/rekindle/done/shop/a"]
    parents = repo.git("rev-list", "--parents", "--max-count=1", made).split()[1:]
    assert parents == list(dict.fromkeys((before, tip)))
    assert repo.git("rev-parse", f"{made}^{{tree}}") == repo.git("rev-parse", f"{before}^{{tree}}")
    assert merges(repo.seen(feature, "a", "b")) == {("a", "e1")}
    assert repo.merged(feature, "a") == made


@pytest.mark.parametrize(
    "given",
    [
        {
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "a@x",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "a@x",
        },
        {"GIT_CONFIG_GLOBAL": "{config}"},
        {
            "GIT_CONFIG_COUNT": "3",
            "GIT_CONFIG_KEY_0": "user.name",
            "GIT_CONFIG_VALUE_0": "Ada",
            "GIT_CONFIG_KEY_1": "core.fsmonitor",
            "GIT_CONFIG_VALUE_1": "touch {canary}",
            "GIT_CONFIG_KEY_2": "user.email",
            "GIT_CONFIG_VALUE_2": "a@x",
        },
    ],
)
def test_work_is_committed_in_the_name_of_whoever_runs_it(repo: Repo, tmp_path: Path, given: dict[str, str]) -> None:
    config, canary = tmp_path / "config", tmp_path / "canary"
    config.write_text("[user]\nname = Ada\nemail = a@x\n")
    feature = repo.begun("a")
    feature.commit_as({name: value.format(config=config, canary=canary) for name, value in given.items()})
    repo.worked(feature, "a")
    repo.merged(feature, "a")
    assert set(repo.git("log", "--format=%an %ae %cn %ce", f"main..feature/{FEATURE}").splitlines()) == {
        "Ada a@x Ada a@x"
    }
    assert not canary.exists()
