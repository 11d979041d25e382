"""Which commits of an agent are work that somebody may miss: real sequences of git, in real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rekindle.adapters.feature_git.git_feature import GitFeature
from rekindle.core.feature.naming import work_branch
from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.strays import Stray
from rekindle.ports.errors import FeatureBlocked
from tests.unit.feature.repositories import FEATURE, Repo, make

BRANCH = work_branch(FEATURE, "t")
BRANCHES = {"t": BRANCH}
TASKS = {"t": TaskProgress("e", BRANCH)}
#: `c NAME` writes a file of that name and commits it; `add FILE TEXT` adds a line to a file and commits that.
WORDS = """
set -e
c() { echo "$1" > "$1"; git add -A; git commit -qm "$1"; }
add() { echo "$2" >> "$1"; git add -A; git commit -qm "$2"; }
"""

ORDINARY = {
    "commits on its branch": "c one; c two",
    "an amended commit": "c one; echo more >> one; git commit -qa --amend --no-edit",
    "an amended message, twice": "c one; git commit -q --amend -m two; git commit -q --amend -m three",
    "an amended commit that a branch still has": "c one; git branch save; git commit -q --amend -m two",
    "a rebase": "c one; (cd $ROOT; c upstream); git rebase -q main",
    "a squash by an interactive rebase": """
        c one; c two; c three
        GIT_SEQUENCE_EDITOR="sed -i '2,$ s/^pick/squash/'" GIT_EDITOR=true git rebase -q -i HEAD~3""",
    "a commit that an interactive rebase drops": """
        c one; c two; GIT_SEQUENCE_EDITOR="sed -i '2 s/^pick/drop/'" git rebase -q -i HEAD~2""",
    "a fixup": """
        c one; c two; echo fix >> one; git commit -qa --fixup HEAD~1
        GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~3""",
    "a rebase that is aborted": """
        c one; (cd $ROOT; echo other > one; git add one; git commit -qm clash)
        git rebase -q main || git rebase --abort""",
    "a pull with rebase": "c one; (cd $ROOT; c upstream); git pull -q --rebase $ROOT main",
    "a merge of main": "c one; (cd $ROOT; c upstream); git merge -q -m merged main",
    "a merge of main that is taken back": """
        c one; (cd $ROOT; c upstream); git merge -q -m merged main; git reset -q --hard HEAD~1; c two""",
    "a look at an old commit": "c one; git checkout -q HEAD~1; git checkout -q -",
    "a look at a branch of somebody's": "git checkout -q theirs; git checkout -q -; c one",
    "a reset to a branch of somebody's and back": "c one; git reset -q --hard theirs; git reset -q --hard ORIG_HEAD",
    "commits that a soft reset squashes": "c one; c two; c three; git reset -q --soft HEAD~3; git commit -qm all",
    "a commit that is made again with more": """
        add f one; git reset -q --soft HEAD~1; echo more >> f; git add f; git commit -qm better; add f later""",
    "a commit that is made again and then changed": """
        c one; git reset -q --soft HEAD~1; git commit -qm again; echo changed > one; git commit -qam changed""",
    "a commit that is split": """
        echo a > a; echo b > b; git add -A; git commit -qm both; git reset -q HEAD~1
        git add a; git commit -qm a; git add b; git commit -qm b""",
    "a cherry-pick from a branch of its own": """
        git checkout -q -b other; c one; git checkout -q -; c two; git cherry-pick other >/dev/null""",
    "a merge of a branch of its own": "git checkout -q -b other; c one; git checkout -q -; git merge -q other",
    "a squashed merge of a branch of its own": """
        git checkout -q -b other; c one; c two; git checkout -q -; c three
        git merge -q --squash other; git commit -qm squashed; git branch -q -D other""",
    "a branch of its own without commits": "c one; git checkout -q -b other; git checkout -q -",
    "a revert": "c one; git revert --no-edit HEAD >/dev/null",
    "a stash that is popped": "echo x > x; git add x; git stash -q; git stash pop -q; git commit -qm x",
    "a stash that is applied": "echo x > x; git add x; git stash -q; git stash apply -q; git commit -qm x; add x more",
    "a stash of the user's": "c one; (cd $ROOT; echo mine >> readme.txt; git stash -q)",
    "the feature's branch gets it": "c one; git push -q . HEAD:feature/shop; git reset -q --hard HEAD~1; c two",
}

LOST = {
    "on another branch": ("c one; git checkout -q -b other; c two; c three", ["branch two", "branch three"]),
    "on another branch, back again": (
        "c one; git checkout -q -b other; c two; git checkout -q -; c three",
        ["branch two"],
    ),
    "on a branch of somebody's": ("git checkout -q theirs; c one", ["branch one"]),
    "on a branch that is deleted": (
        "git checkout -q -b other; c one; git checkout -q -; git branch -q -D other; c two",
        ["branch one"],
    ),
    "on a detached HEAD": ("c one; git checkout -q --detach; c two", ["detached two"]),
    "on a detached HEAD, back again": ("git checkout -q --detach; c one; git checkout -q -; c two", ["detached one"]),
    "dropped by a reset": ("c one; c two; c three; git reset -q --hard HEAD~2", ["reset two", "reset three"]),
    "dropped, and other work went on": ("c one; c two; git reset -q --hard HEAD~1; c three", ["reset two"]),
    "dropped by a moved branch": ("c one; git checkout -q -B work/shop/t main", ["reset one"]),
    "amended and dropped": ("c one; git commit -q --amend -m two; git reset -q --hard HEAD~1; c three", ["reset two"]),
    "rebased and dropped": (
        "c one; (cd $ROOT; c upstream); git rebase -q main; git reset -q --hard HEAD~1; c two",
        ["reset one"],
    ),
    "amended on another branch": (
        "c one; git checkout -q -b other; echo more >> one; git commit -qa --amend -m two",
        ["branch two"],
    ),
    "removed lines": (
        """printf 'a\\nb\\n' > f; git add f; git commit -qm f
        echo a > f; git commit -qam less; git reset -q --hard HEAD~1""",
        ["reset less"],
    ),
    "half of it was made again": (
        "add f one; add f two; git reset -q --hard HEAD~2; add f one",
        ["reset two"],
    ),
    "a merge with a resolution": (
        """echo mine > one; git add -A; git commit -qm mine; (cd $ROOT; c one); git merge -q main || true
        echo both > one; git commit -qam resolved; git reset -q --hard HEAD~1""",
        ["reset resolved"],
    ),
    "in the stash": ("c one; echo x > x; git add x; git stash -q", [f"stash WIP on {BRANCH}"]),
    "in the stash, with a message": ("echo x >> readme.txt; git stash push -qm half", [f"stash On {BRANCH}: half"]),
    "in the stash, untracked": ("c one; echo x > x; git stash -q -u", [f"stash WIP on {BRANCH}"]),
    "in the stash of another branch": (
        "git checkout -q -b other; echo x > x; git add x; git stash -q; git checkout -q -; c one",
        ["stash WIP on other"],
    ),
    "in the stash of a detached HEAD": (
        "c one; git checkout -q --detach; echo x > x; git add x; git stash -q; git checkout -q -",
        ["stash WIP on (no branch)"],
    ),
    "not committed on another branch": (
        "c one; git checkout -q -b other; echo x > x",
        ["uncommitted uncommitted changes"],
    ),
    "its branch is renamed": (f"c one; git branch -m {BRANCH} new; c two", ["branch two"]),
}


def played(folder: Path, script: str) -> tuple[Repo, GitFeature]:
    """A repository in which an agent has done this in its worktree."""
    repo = make(folder / "repo")
    repo.git("branch", "theirs")
    repo.git("worktree", "add", "-q", str(folder / "side"), "theirs")
    (folder / "side" / "theirs.txt").write_text("theirs\n")
    repo.git("add", "-A", cwd=folder / "side")
    repo.git("commit", "-q", "-m", "theirs", cwd=folder / "side")
    repo.git("worktree", "remove", str(folder / "side"))
    feature = repo.begun("t")
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"ROOT": str(repo.root), "GIT_CONFIG_GLOBAL": str(folder / "config"), "GIT_CONFIG_NOSYSTEM": "1"}
    (folder / "config").write_text("[user]\nname = a\nemail = a@example.invalid\n")
    done = subprocess.run(
        ["bash", "-c", WORDS + script],
        cwd=feature.tree_of("t", BRANCH),
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return repo, feature


def strays(feature: GitFeature) -> tuple[Stray, ...]:
    return feature.observe(TASKS).strays.get("t", ())


@pytest.mark.parametrize("script", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_work_is_not_asked_about(tmp_path: Path, script: str) -> None:
    _, feature = played(tmp_path, script)
    assert strays(feature) == ()


@pytest.mark.parametrize(("script", "expected"), LOST.values(), ids=LOST)
def test_work_that_is_not_on_the_branch_is_found_and_named(tmp_path: Path, script: str, expected: list[str]) -> None:
    _, feature = played(tmp_path, script)
    found = [f"{one.kind} {one.subject}" for one in strays(feature)]
    assert len(found) == len(expected), found
    assert all(one.startswith(named) for one, named in zip(found, expected, strict=True)), found


AWAY = {
    "on another branch": ("c one; git checkout -q -b other; c two", ["one", "two"]),
    "on a detached HEAD": ("c one; git checkout -q --detach; c two", ["one", "two"]),
    "dropped by a reset": ("c one; c two; git reset -q --hard HEAD~1", ["one", "two"]),
    "apart": ("c one; git checkout -q -b other HEAD~1; c two; git checkout -q -; c three", ["one", "three", "two"]),
    "in the stash": ("c one; echo x >> one; echo two > two; git add two; git stash -q", ["one", "two"]),
    "in the stash, untracked": ("c one; echo two > two; git stash -q -u", ["one", "two"]),
    "not committed on another branch": ("c one; git checkout -q -b other; echo two > two", ["one", "two"]),
    "not committed on a detached HEAD": ("c one; git checkout -q --detach; c two; echo x > x", ["one", "two", "x"]),
    "its branch was deleted": ("c one; git checkout -q -b other; c two; git branch -q -D work/shop/t", ["one", "two"]),
}


@pytest.mark.parametrize(("script", "expected"), AWAY.values(), ids=AWAY)
def test_what_is_taken_is_on_the_branch_and_nothing_is_asked_again(
    tmp_path: Path, script: str, expected: list[str]
) -> None:
    repo, feature = played(tmp_path, script)
    found = strays(feature)
    feature.keep_strays("t", BRANCH, found)
    assert all(one.kept for one in strays(feature))
    taken = feature.take_strays("t", TASKS)
    assert taken
    assert set(repo.git("ls-tree", "--name-only", BRANCH).split()) == {*expected, "readme.txt"}
    assert repo.git("status", "--porcelain", "--branch", cwd=feature.tree_of("t", BRANCH)) == f"## {BRANCH}"
    assert strays(feature) == ()
    assert repo.git("for-each-ref", "refs/rekindle/kept") == ""


@pytest.mark.parametrize("script", [script for script, _ in AWAY.values()], ids=AWAY)
def test_what_is_left_stays_where_it_is_and_is_kept_whatever_is_deleted(tmp_path: Path, script: str) -> None:
    repo, feature = played(tmp_path, script)
    before = repo.git("rev-parse", BRANCH) if "-D" not in script else repo.git("rev-parse", "other~1")
    left = feature.leave_strays("t", TASKS)
    assert left and all(one.commit for one in left)
    assert repo.git("rev-parse", BRANCH) == before
    assert repo.git("status", "--porcelain", "--branch", cwd=feature.tree_of("t", BRANCH)) == f"## {BRANCH}"
    repo.git("worktree", "remove", "--force", feature.tree_of("t", BRANCH))
    repo.git("stash", "clear")
    repo.git("reflog", "expire", "--expire=now", "--all")
    for other in repo.git("branch", "--list", "other", "--format=%(refname:short)").split():
        repo.git("branch", "-D", other)
    repo.git("gc", "-q", "--prune=now")
    found = strays(feature)
    assert {one.commit for one in found} == {one.commit for one in left}
    assert all(one.kept for one in found)


def test_a_conflict_is_named_and_changes_nothing(tmp_path: Path) -> None:
    repo, feature = played(
        tmp_path,
        "c one; git checkout -q -b other HEAD~1; echo 2 > one; git add -A; git commit -qm two; git checkout -q -",
    )
    before = (repo.git("rev-parse", BRANCH), strays(feature)[0].commit)
    with pytest.raises(FeatureBlocked) as caught:
        feature.take_strays("t", TASKS)
    assert "'two' (on other) conflicts with work/shop/t: one; nothing was changed" in caught.value.message
    assert "merge" in caught.value.hint and "rekindle resume shop --leave t" in caught.value.hint
    assert (repo.git("rev-parse", BRANCH), strays(feature)[0].commit) == before
    assert repo.git("status", "--porcelain", "--branch", cwd=feature.tree_of("t", BRANCH)) == f"## {BRANCH}"


def test_a_stash_that_conflicts_changes_nothing(tmp_path: Path) -> None:
    repo, feature = played(
        tmp_path, "c one; echo a > one; echo b > b; git stash -q -u; echo c > one; git commit -qam c"
    )
    before = repo.git("rev-parse", BRANCH)
    with pytest.raises(FeatureBlocked, match="nothing was changed"):
        feature.take_strays("t", TASKS)
    assert repo.git("rev-parse", BRANCH) == before
    assert repo.git("status", "--porcelain", cwd=feature.tree_of("t", BRANCH)) == ""
    assert len(strays(feature)) == 1


@pytest.mark.parametrize("away", ["git checkout -q -b other", "git checkout -q --detach"])
def test_a_deleted_branch_whose_tip_the_worktree_knows_is_made_again_there(tmp_path: Path, away: str) -> None:
    repo, feature = played(tmp_path, f"c one; git rev-parse HEAD > $ROOT/tip; {away}; git branch -q -D work/shop/t")
    tip = (repo.root / "tip").read_text().strip()
    base = repo.git("rev-parse", "refs/rekindle/base/shop/t")
    seen = feature.observe(TASKS)
    assert (seen.fallen, seen.strays) == ({"t": tip}, {})
    assert seen.away["t"].branch == ("other" if "other" in away else None)
    assert feature.prepare("t", BRANCH, "s").made_branch is None
    assert repo.git("rev-parse", BRANCH) == tip
    assert repo.git("rev-parse", "refs/rekindle/base/shop/t") == base
    assert feature.observe(TASKS).branches[BRANCH].commits == 1


def test_a_worktree_that_was_made_again_has_forgotten_and_the_branch_has_not(tmp_path: Path) -> None:
    repo, feature = played(tmp_path, "c one; c two; git reset -q --hard HEAD~1")
    repo.git("worktree", "remove", feature.tree_of("t", BRANCH))
    feature.prepare("t", BRANCH, "s")
    assert [one.subject for one in strays(feature)] == ["two"]


def test_an_unfinished_rebase_is_left_to_whoever_began_it(tmp_path: Path) -> None:
    _, feature = played(
        tmp_path, "c one; (cd $ROOT; echo other > one; git add one; git commit -qm clash); git rebase -q main || true"
    )
    for answer in (feature.take_strays, feature.leave_strays):
        with pytest.raises(FeatureBlocked, match="a rebase is under way") as caught:
            answer("t", TASKS)
        assert "rebase --abort" in caught.value.hint


def test_tasks_that_share_a_worktree_have_each_its_own_strays(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.feature(shared=True)
    feature.make_feature("")
    both = {name: work_branch(FEATURE, name) for name in ("t", "u")}
    tasks = {name: TaskProgress("e", branch) for name, branch in both.items()}
    tree = Path(feature.tree_of("t", BRANCH))
    feature.prepare("t", both["t"], "s")
    repo.git("commit", "-q", "--allow-empty", "-m", "one", cwd=tree)
    repo.git("checkout", "-q", "-b", "other", cwd=tree)
    repo.git("commit", "-q", "--allow-empty", "-m", "nothing", cwd=tree)
    (tree / "two").write_text("two")
    repo.git("add", "-A", cwd=tree)
    repo.git("commit", "-q", "-m", "two", cwd=tree)
    feature.prepare("u", both["u"], "s")
    assert {task: [one.subject for one in found] for task, found in feature.observe(tasks).strays.items()} == {
        "t": ["two"]
    }


@pytest.mark.parametrize(
    "script",
    [*(script for script, _ in AWAY.values()), "c one; git checkout -q --detach; git branch -q -D work/shop/t"],
)
def test_a_task_that_is_started_over_keeps_its_strays_apart_and_begins_anew(tmp_path: Path, script: str) -> None:
    repo, feature = played(tmp_path, script)
    before = [one.commit for one in strays(feature) if one.commit]
    feature.keep_strays("t", BRANCH, strays(feature))
    kept = feature.start_over(BRANCHES, "e2", whole=False).kept
    assert set(before) <= set(repo.git("for-each-ref", "--format=%(objectname)", "refs/rekindle/kept").split())
    assert all(ref.startswith("refs/rekindle/kept/shop/e2/") for ref in kept.values())
    seen = feature.observe(TASKS)
    assert (seen.fallen, [one for one in seen.strays.get("t", ()) if one.commit]) == ({}, [])
    if not seen.strays:
        assert feature.prepare("t", BRANCH, "s").made_branch == repo.git("rev-parse", "feature/shop")
