"""Where the worktrees of tasks are: whoever named them, no two tasks share one, and none leaves its folder unasked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.feature.progress import TaskProgress
from rekindle.core.feature.records import choose_branch, recorded_trees
from rekindle.core.git_names import is_branch_name
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import fold
from rekindle.core.reconcile.homes import Folder, Linked, RecordedHome, homes
from rekindle.ports.errors import FeatureBlocked
from tests.journals import line
from tests.unit.feature.repositories import FEATURE, Repo, make

FOLDER = Folder(lambda branch: f"/t/{branch.rpartition('/')[2]}", lambda branch: f"/t/~{branch}")
_branches = st.sampled_from(["w/a", "w/b", "v/a", "v/b", "c"])
_paths = st.sampled_from(["/t/a", "/t/b", "/t/c", "/t/x", "/u/a"])
_linked = st.builds(Linked, _paths, st.one_of(st.none(), _branches), st.booleans())


def unlike(trees: list[Linked]) -> list[Linked]:
    """As git has them: one path once, one branch once; outside is what is not under /t."""
    found: dict[str, Linked] = {}
    for tree in trees:
        if all(tree.branch is None or tree.branch != other.branch for other in found.values()):
            found[tree.path] = Linked(tree.path, tree.branch, tree.exists, tree.path.startswith("/t/"))
    return list(found.values())


@given(
    st.dictionaries(st.sampled_from("1234"), _branches, min_size=1),
    st.lists(_linked, max_size=5).map(unlike),
    st.dictionaries(_branches, st.builds(RecordedHome, _paths)),
    st.sets(_branches),
)
def test_no_two_tasks_share_a_worktree_and_none_is_used_with_anothers_branch_unasked(
    tasks: dict[str, str], linked: list[Linked], records: dict[str, RecordedHome], existing: set[str]
) -> None:
    tasks = {name: branch for name, branch in tasks.items() if list(tasks.values()).count(branch) == 1}
    records = {branch: RecordedHome(one.path, one.path.startswith("/t/")) for branch, one in records.items()}
    existing |= {tree.branch for tree in linked if tree.branch is not None}
    found = homes(tasks, linked, records, existing, FOLDER)
    assert found.keys() == tasks.keys()
    assert len(set(found.values())) == len(found)
    held = {tree.branch: tree for tree in linked if tree.exists}
    for name, path in found.items():
        tree = held.get(tasks[name])
        recorded = records.get(tasks[name])
        if not path.startswith("/t/"):
            assert tree is not None and tree.path == path and recorded is not None and recorded.path == path
        if tree is not None and tree.inside and tree.path == FOLDER.plain(tasks[name]):
            assert path == tree.path


def test_a_worktree_that_belongs_to_one_task_is_not_given_to_another_whose_branch_an_agent_checked_out_there() -> None:
    tasks = {"1": "w/a", "2": "w/b"}
    found = homes(tasks, [Linked("/t/a", "w/b")], {}, {"w/a", "w/b"}, FOLDER)
    assert found == {"1": "/t/a", "2": "/t/b"}
    merged = homes(tasks, [Linked("/t/a", "w/b")], {}, {"w/b"}, FOLDER)
    assert merged["2"] == "/t/a", "nobody else claims it once the other branch is gone"


def test_what_git_remembers_of_a_lost_worktree_comes_before_what_the_journal_says() -> None:
    gone = [Linked("/t/x", "w/a", exists=False)]
    assert homes({"1": "w/a"}, gone, {"w/a": RecordedHome("/t/y")}, {"w/a"}, FOLDER) == {"1": "/t/x"}
    assert homes({"1": "w/a"}, [], {"w/a": RecordedHome("/t/y")}, {"w/a"}, FOLDER) == {"1": "/t/y"}
    assert homes({"1": "w/a"}, [], {"w/a": RecordedHome("/u/y", fit=False)}, {"w/a"}, FOLDER) == {"1": "/t/a"}
    assert homes({"1": "w/a", "2": "v/a"}, [], {}, set(), FOLDER) == {"1": "/t/a", "2": "/t/~v/a"}


def test_the_newest_word_on_a_worktree_counts() -> None:
    state = fold(
        map(
            decode_line,
            [
                line("session.start"),
                line("worktree.created", seq=1, path="old", branch="w/a"),
                line("worktree.created", seq=2, path="new", branch="w/a"),
                line("worktree.created", seq=3, path="gone", branch="w/b"),
                line("worktree.removed", seq=4, path="gone"),
            ],
        )
    )
    assert recorded_trees(state.runs) == {"w/a": "new"}


def test_the_features_branch_is_the_newest_that_is_there_or_one_with_a_usual_name() -> None:
    assert choose_branch("shop", ["feat/x", "main-shop"], {"main-shop"}) == "main-shop"
    assert choose_branch("shop", ["feat/x", "hotfix/shop"], ()) == "hotfix/shop"
    assert choose_branch("shop", ["main"], {"main"}, "main") == "feature/shop", "somebody tracked by hand, on main"
    assert choose_branch("shop", ["my-shop"], {"my-shop"}, "my-shop") == "my-shop"
    assert choose_branch("shop", ["feat/x"], ()) == choose_branch("shop", [], ()) == "feature/shop"


@pytest.mark.parametrize(
    ("feature", "users", "is_called_after_it"),
    [
        ("ai", "main", False),
        ("ui", "build", False),
        ("auth", "unauthorised/x", False),
        ("front-end", "front", False),
        ("front-end", "end/front", False),
        ("ai", "ai", True),
        ("ai", "feat/my_ai.2", True),
        ("front-end", "me/new-front-end", True),
        ("front-end", "front/end", True),
    ],
)
def test_a_branch_of_the_users_is_called_after_a_feature_by_whole_words(
    feature: str, users: str, is_called_after_it: bool
) -> None:
    found = choose_branch(feature, [users], {users}, users)
    assert found == (users if is_called_after_it else f"feature/{feature}")


@pytest.mark.parametrize("name", ["-f", "--orphan", "a..b", "a b", "x.lock", ".x", "a/.b", "/a", "a/", "a//b", "@", ""])
def test_a_text_that_is_no_branch_is_never_given_to_git(name: str) -> None:
    assert not is_branch_name(name)
    assert is_branch_name("feat/front-end.2") and is_branch_name("ünïcode")


def test_a_foreign_worktree_is_worked_in_committed_in_and_cleared_away(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.begun()
    tree = repo.root / ".worktrees" / FEATURE / "api service"
    repo.git("worktree", "add", "-q", "-b", "feat/api", str(tree), "feature/shop")
    seen = feature.observe({"2": TaskProgress("e", "feat/api")})
    assert seen.homes == {"2": str(tree)} and seen.trees[str(tree)].branch == "feat/api"
    assert not feature.prepare("2", "feat/api", "s").made_tree
    (tree / "api.txt").write_text("x")
    feature.commit("2", "feat/api", "work")
    tip = repo.git("rev-parse", "feat/api")
    assert feature.merge("2", "feat/api", tip, "e1", "Merge 2").commit is not None
    cleared = feature.clear("2", "feat/api")
    assert (cleared.removed_tree, cleared.deleted_branch, cleared.kept) == (str(tree), "feat/api", ())


def test_a_lost_foreign_worktree_is_made_again_where_it_was(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.begun()
    tree = repo.root / ".worktrees" / "flat"
    repo.git("worktree", "add", "-q", "-b", "feat/api", str(tree), "feature/shop")
    shutil.rmtree(tree)
    feature.observe({"2": TaskProgress("e", "feat/api")})
    assert feature.prepare("2", "feat/api", "s").path == str(tree), "git still remembers it"
    shutil.rmtree(tree)
    repo.git("worktree", "prune")
    feature.observe({"2": TaskProgress("e", "feat/api")}, {"feat/api": ".worktrees/flat"})
    assert feature.prepare("2", "feat/api", "s").path == str(tree), "the journal remembers it"


def test_starting_over_takes_a_foreign_worktree_away_and_keeps_what_was_in_it(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.begun()
    tree = repo.root / ".worktrees" / FEATURE / "other"
    repo.git("worktree", "add", "-q", "-b", "feat/api", str(tree), "feature/shop")
    (tree / "half.txt").write_text("half")
    feature.observe({"2": TaskProgress("e", "feat/api")})
    kept = feature.start_over({"2": "feat/api"}, "e2", whole=False).kept
    assert repo.git("show", f"{kept['feat/api']}:half.txt") == "half"
    assert not tree.exists()


def test_a_link_on_the_way_to_a_worktree_is_not_followed(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.begun()
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.root / ".worktrees").mkdir()
    (repo.root / ".worktrees" / FEATURE).symlink_to(outside)
    with pytest.raises(FeatureBlocked, match="symbolic link"):
        feature.prepare("a", "work/shop/a", "s")
    assert list(outside.iterdir()) == []


def test_the_users_checkout_is_never_a_tasks_worktree(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    feature = repo.begun()
    repo.git("switch", "-q", "-c", "feat/api")
    seen = feature.observe({"2": TaskProgress("e", "feat/api")}, {"feat/api": str(repo.root)})
    assert seen.homes["2"] != str(repo.root) and str(repo.root) not in seen.trees
    assert "is checked out in" in seen.blocked["2"]
    with pytest.raises(FeatureBlocked, match="is checked out in"):
        feature.prepare("2", "feat/api", "s")


def test_a_copy_makes_worktrees_of_its_own_and_leaves_those_of_the_original_alone(tmp_path: Path) -> None:
    repo = make(tmp_path / "repo")
    repo.begun()
    outside = tmp_path / "outside"
    repo.git("worktree", "add", "-q", "-b", "feat/api", str(outside), "feature/shop")
    shutil.copytree(repo.root, tmp_path / "copy", symlinks=True)
    copy = Repo(tmp_path / "copy")
    feature = copy.feature()
    seen = feature.observe({"2": TaskProgress("e", "feat/api")}, {"feat/api": str(outside)})
    assert seen.blocked == {} and seen.trees == {}
    made = feature.prepare("2", "feat/api", "s")
    assert made.path == str(copy.root / ".worktrees" / FEATURE / "api")
    common = repo.git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=outside)
    assert common == str(repo.root / ".git")
    assert repo.git("branch", "--show-current", cwd=outside) == "feat/api"
