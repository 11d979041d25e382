"""The promises of worktrees for sessions. Nobody has a fake of them, so git alone is held to them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekindle.adapters.git import linked_worktrees
from rekindle.ports.errors import RekindleError
from rekindle.ports.worktrees import SessionWorktrees
from tests.unit.feature.repositories import Repo
from tests.unit.feature.repositories import make as make_repository

PORT: SessionWorktrees = linked_worktrees


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return make_repository(tmp_path / "repo")


def test_a_session_without_a_worktree_of_its_own_works_where_it_was_begun(repo: Repo, tmp_path: Path) -> None:
    below = repo.root / "below"
    below.mkdir()
    found = PORT.around(str(below))
    assert (found.cwd, found.path, found.repository, found.branch) == (str(below), str(repo.root), str(repo.root), None)
    outside = PORT.around(str(tmp_path))
    assert (outside.cwd, outside.path, outside.repository) == (str(tmp_path), None, None)


def test_a_worktree_is_made_once_beside_the_users_checkout(repo: Repo) -> None:
    before = repo.checkout()
    made = PORT.make(str(repo.root), "try")
    assert made.branch is not None
    assert made.path is not None
    assert made.path != str(repo.root)
    assert Path(made.cwd, "readme.txt").read_text() == "hello\n"
    assert repo.git("symbolic-ref", "--short", "HEAD", cwd=made.path) == made.branch
    Path(made.cwd, "work.txt").write_text("work\n")
    again = PORT.make(str(repo.root), "try")
    assert (again.cwd, again.path, again.branch) == (made.cwd, made.path, made.branch)
    assert Path(made.cwd, "work.txt").exists()
    assert repo.checkout() == before


def test_a_session_that_was_begun_below_works_at_the_same_place_of_its_worktree(repo: Repo, tmp_path: Path) -> None:
    below = repo.root / "below"
    below.mkdir()
    (below / "file").write_text("x")
    repo.git("add", "below")
    repo.git("commit", "-q", "-m", "below")
    made = PORT.make(str(below), "try", str(tmp_path / "trees"))
    assert made.path is not None
    assert made.path.startswith(str(tmp_path / "trees"))
    assert made.cwd == os.path.join(made.path, "below")


@pytest.mark.parametrize("name", ["", "../out", "a b~", "x" * 300])
def test_a_name_that_can_be_none_is_refused_and_makes_nothing(repo: Repo, name: str) -> None:
    with pytest.raises(RekindleError):
        PORT.make(str(repo.root), name)
    assert len(repo.git("worktree", "list").splitlines()) == 1


def test_outside_of_a_repository_there_is_no_worktree(tmp_path: Path) -> None:
    with pytest.raises(RekindleError):
        PORT.make(str(tmp_path), "try")
