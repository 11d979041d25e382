"""The promises of a repository's filters, and of looking after it. Nobody has a fake of them: git is held to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekindle.adapters.feature_git.care import CheckoutCare
from rekindle.adapters.git.filters_here import RepositoryFilters
from rekindle.ports.git_filters import GitFilters
from rekindle.ports.repository_care import RepositoryCare
from tests.unit.feature.repositories import Repo, make


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repo:
    home = tmp_path / "home"
    home.mkdir()
    (home / "gitconfig").write_text("")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return make(tmp_path / "repo")


def care(repo: Repo) -> RepositoryCare:
    return CheckoutCare(str(repo.root), str(repo.root / ".worktrees"))


def test_what_a_repository_would_run_is_withheld_until_somebody_says_yes_to_just_that(repo: Repo) -> None:
    filters: GitFilters = RepositoryFilters(str(repo.root))
    assert (filters.look().defined, filters.look().withheld, care(repo).withheld()) == ((), (), None)
    repo.git("config", "filter.x.clean", "their-program")
    (repo.root / ".gitattributes").write_text("*.txt filter=x\n")
    found = filters.look()
    assert found.defined == found.withheld != ()
    assert care(repo).withheld() is not None
    filters.approve(found)
    assert (filters.look().defined, filters.look().withheld) == (found.defined, ())
    repo.git("config", "filter.x.clean", "another-program")
    assert filters.look().withheld != (), "nobody has said yes to that"
    repo.git("config", "filter.x.clean", "their-program")
    for _ in range(2):
        filters.forget(filters.look())
        assert filters.look().withheld == found.defined


def test_whether_git_tracks_anything_below_a_folder_is_known(repo: Repo) -> None:
    (repo.root / "docs").mkdir()
    (repo.root / "docs" / "a").write_text("x")
    assert care(repo).is_tracked("docs") is False
    repo.git("add", "docs")
    assert care(repo).is_tracked("docs") is True
    assert care(repo).is_tracked("nowhere") is False


def test_what_looks_like_a_features_and_no_journal_knows_is_named_with_what_removes_it(repo: Repo) -> None:
    assert care(repo).orphans([], []) == []
    feature = repo.begun("a")
    branch = "work/shop/a"
    assert care(repo).orphans([branch, feature.branch], ["shop"]) == []
    found = care(repo).orphans([], [])
    assert any(branch in one.what or branch in one.remove for one in found)
    assert all(one.what and one.remove for one in found)
    assert repo.git("rev-parse", "--verify", branch), "it is looked at, never changed"
