"""The promises of snapshots that are found by a folder. Nobody has a fake of them, so git alone is held to them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekindle.adapters.snapshots.of_folder import FolderSnapshots
from rekindle.ports.errors import NoSuchSnapshot, RekindleError, UsageError
from rekindle.ports.snapshots import KeptTrees
from tests.conformance.test_snapshots import NAME, NOW, GitWorld


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitWorld:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return GitWorld(tmp_path)


@pytest.fixture
def trees() -> KeptTrees:
    return FolderSnapshots()


def files_of(folder: str) -> dict[str, str]:
    return {path.name: path.read_text() for path in Path(folder).iterdir() if path.is_file()}


def test_snapshots_are_listed_in_their_order_with_their_reasons_and_times(world: GitWorld, trees: KeptTrees) -> None:
    cwd = world.session.cwd
    assert trees.listing(cwd, NAME) == []
    taken = []
    for number, text in enumerate(("one", "two")):
        world.write("tracked", text)
        taken.append(trees.take(cwd, NAME, f"reason {number}", NOW + number))
    assert trees.take(cwd, NAME, "nothing has changed", NOW + 9) is None
    found = trees.listing(cwd, NAME)
    assert found == taken
    assert [(one.session, one.reason, one.at, one.pinned) for one in found] == [
        (NAME, "reason 0", int(NOW), False),
        (NAME, "reason 1", int(NOW) + 1, False),
    ]
    assert trees.listing(cwd, "other") == []


def test_outside_of_a_repository_nothing_is_listed_and_nothing_can_be_put_back(
    world: GitWorld, trees: KeptTrees
) -> None:
    nowhere = world.outside().cwd
    assert (trees.listing(nowhere, NAME), trees.take(nowhere, NAME, "x", NOW)) == ([], None)
    with pytest.raises(RekindleError):
        trees.restore(nowhere, NAME, None, None, NOW)


def test_a_pin_keeps_a_snapshot_and_can_be_taken_away(world: GitWorld, trees: KeptTrees) -> None:
    cwd = world.session.cwd
    for number in range(4):
        world.write("tracked", str(number))
        trees.take(cwd, NAME, str(number), NOW + number)
    pinned = trees.listing(cwd, NAME)[1]
    for _ in range(2):
        assert trees.pin(cwd, NAME, pinned.id[:12]).pinned
    world.snapshots.thin(world.session, NOW + 400 * 24 * 3600)
    assert [one.reason for one in trees.listing(cwd, NAME)] == ["0", "1", "3"]
    for _ in range(2):
        assert not trees.pin(cwd, NAME, pinned.id, pinned=False).pinned
    world.snapshots.thin(world.session, NOW + 400 * 24 * 3600)
    assert [one.reason for one in trees.listing(cwd, NAME)] == ["0", "3"]


def test_a_snapshot_is_put_into_a_new_folder_or_over_the_work_tree_and_nothing_is_lost(
    world: GitWorld, trees: KeptTrees, tmp_path: Path
) -> None:
    cwd = world.session.cwd
    trees.take(cwd, NAME, "first", NOW)
    world.write("tracked", "two")
    world.write("new", "untracked")
    first = trees.listing(cwd, NAME)[0]
    beside = trees.restore(cwd, NAME, first.id, str(tmp_path / "beside"), NOW + 1)
    assert files_of(beside.to) == {"tracked": "one"}
    with pytest.raises(UsageError):
        trees.restore(cwd, NAME, first.id, beside.to, NOW + 1)
    done = trees.restore(cwd, NAME, first.id, None, NOW + 2)
    assert (done.snapshot.id, files_of(cwd)) == (first.id, {"tracked": "one"})
    assert done.before is not None
    trees.restore(cwd, NAME, done.before, None, NOW + 3)
    assert files_of(cwd) == {"tracked": "two", "new": "untracked"}


def test_what_changed_is_told_between_snapshots_and_up_to_now(world: GitWorld, trees: KeptTrees) -> None:
    cwd = world.session.cwd
    for text in ("one", "two"):
        world.write("tracked", text)
        trees.take(cwd, NAME, text, NOW)
    world.write("tracked", "three")
    a, b = (one.id for one in trees.listing(cwd, NAME))
    between, now = trees.difference(cwd, NAME, a, b), trees.difference(cwd, NAME, None, None)
    assert (b"-one" in between, b"+two" in between, b"+three" in between) == (True, True, False)
    assert (b"-two" in now, b"+three" in now) == (True, True)
    with pytest.raises(NoSuchSnapshot):
        trees.difference(cwd, NAME, "ffff", None)
