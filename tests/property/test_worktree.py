"""Laying a snapshot over a branch that has moved: nothing of the branch is lost, and nothing is decided in silence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rekindle.core.session_worktree import Combined, Tree, branch_of, combine, folder_of, listed, lost, readable

paths = st.sampled_from([b"a", b"a/b", b"a/b/c", b"c", b"d/e", b"d"])


def is_tree(tree: Tree) -> bool:
    """No file lies inside of a file."""
    return not any(other.startswith(path + b"/") for path in tree for other in tree)


trees = st.dictionaries(paths, st.sampled_from(["1", "2", "3"])).filter(is_tree)


@given(trees, trees)
def test_a_branch_that_has_not_moved_takes_all_of_the_snapshot(base: Tree, snapshot: Tree) -> None:
    combined = combine(base, base, snapshot)
    assert combined == Combined(dict(snapshot), [])


@given(trees, trees)
def test_a_snapshot_with_nothing_of_its_own_changes_nothing(base: Tree, branch: Tree) -> None:
    assert combine(base, branch, base) == Combined(dict(branch), [])


@given(trees, trees, trees)
def test_what_the_branch_changed_stays_and_what_did_not_go_with_it_is_named(
    base: Tree, branch: Tree, snapshot: Tree
) -> None:
    combined = combine(base, branch, snapshot)
    assert is_tree(combined.tree)
    for path in {*base, *branch, *snapshot}:
        found = combined.tree.get(path)
        if branch.get(path) != base.get(path):
            assert found == branch.get(path)
        elif found != snapshot.get(path):
            assert path in combined.conflicts
    assert all(snapshot.get(path) != combined.tree.get(path) for path in combined.conflicts)


@given(st.sets(paths), st.sets(paths))
def test_work_is_lost_only_if_something_else_is_checked_out(uncommitted: set[bytes], changed: set[bytes]) -> None:
    assert lost("1", "1", uncommitted, changed) == []
    assert set(lost("1", "2", uncommitted, changed)) == uncommitted & changed


@given(st.lists(st.binary(min_size=1, max_size=8), max_size=20), st.integers(1, 10))
def test_a_list_of_names_is_the_same_whatever_the_order_and_short(found: list[bytes], most: int) -> None:
    names = listed(found, most)
    assert names == listed(reversed(found), most)
    assert len(names) <= most + 1
    assert all(name.isprintable() for name in names)


def test_names() -> None:
    assert (branch_of("x"), folder_of("x")) == ("rekindle/x", "x")
    assert (branch_of("work/auth/x"), folder_of("work/auth/x")) == ("work/auth/x", "work-auth-x")
    assert readable(b"caf\xe9 \n\xc3\xa9") == "caf\\xe9 \\n\u00e9"
