"""The promises of what repositories are known by. Nobody has a fake of it, so their git folders are held to them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from rekindle.adapters.git import identity, repository
from rekindle.ports.identity import KnownRepository, RepositoryIdentities
from rekindle.ports.workspace import Checkout
from tests.unit.feature.repositories import Repo, make

PORT: RepositoryIdentities = identity


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return make(tmp_path / "one")


def checkout(path: Path) -> Checkout:
    found = repository.find(str(path))
    assert found is not None
    return found


def test_a_repository_gets_an_id_once_and_a_look_gives_it_none(repo: Repo) -> None:
    here = checkout(repo.root)
    assert PORT.find(here) is None
    assert PORT.find(here) is None
    made = PORT.ensure(here)
    assert (PORT.ensure(here), PORT.find(here)) == (made, KnownRepository(made, "same"))


def test_an_id_that_sessions_remember_is_used_again(repo: Repo) -> None:
    by_path = PORT.by_path(checkout(repo.root))
    assert by_path == PORT.by_path(checkout(repo.root)), "it follows from the path"
    assert PORT.ensure(checkout(repo.root), by_path) == by_path
    assert PORT.ensure(checkout(repo.root), "another") == by_path, "it has one by now"


def test_a_moved_repository_is_known_until_it_is_settled_where_it_is(repo: Repo, tmp_path: Path) -> None:
    inside = repo.root / ".trees" / "w"
    repo.git("worktree", "add", "-q", "-b", "w", str(inside))
    made = PORT.ensure(checkout(repo.root))
    new = tmp_path / "two"
    repo.root.rename(new)
    here = checkout(new)
    found = PORT.find(here)
    assert found == KnownRepository(made, "moved", str(repo.root))
    for _ in range(2):
        PORT.put_right(here, found, str(tmp_path / "state"), str(new / "progress"))
        assert Repo(new).git("status", "--porcelain", cwd=new / ".trees" / "w") == ""
        assert PORT.find(here) == found
    assert PORT.holds(here, str(new / ".trees" / "w"))
    for _ in range(2):
        PORT.settle(here, found)
        assert PORT.find(here) == KnownRepository(made, "same")


def test_a_copy_is_told_from_the_repository_and_gets_an_id_of_its_own(repo: Repo, tmp_path: Path) -> None:
    made = PORT.ensure(checkout(repo.root))
    shutil.copytree(repo.root, tmp_path / "two", symlinks=True)
    copy = checkout(tmp_path / "two")
    found = PORT.find(copy)
    assert found is not None
    assert (found.id, found.verdict) == (made, "copy")
    own = PORT.ensure(copy)
    assert own != made
    assert (PORT.find(copy), PORT.ensure(checkout(repo.root))) == (KnownRepository(own, "same"), made)


def test_only_its_own_worktrees_are_held(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "w", str(tmp_path / "tree"))
    other = make(tmp_path / "other")
    here = checkout(repo.root)
    assert PORT.holds(here, str(tmp_path / "tree"))
    assert not PORT.holds(checkout(other.root), str(tmp_path / "tree"))
    for wrong in (other.root, repo.root, tmp_path / "gone", tmp_path):
        assert not PORT.holds(here, str(wrong))
