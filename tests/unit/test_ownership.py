"""Whose a repository is: the answer is git's own, also where git does not ask."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rekindle.adapters.git import ownership, repository
from rekindle.ports.errors import ForeignRepository

SOMEBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of another user, for a user with a HOME of their own."""
    home, repo = tmp_path / "home", tmp_path / "deep" / "repo"
    home.mkdir()
    repo.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("SUDO_UID", raising=False)
    subprocess.run(["git", "init", "-q", "-b", "feature/auth"], cwd=repo, check=True)
    for path in (repo, repo / ".git"):
        os.chown(path, SOMEBODY, SOMEBODY)
    return repo


def git_agrees(repo: Path) -> bool:
    done = subprocess.run(["git", "-C", str(repo), "rev-parse", "--git-dir"], capture_output=True, check=False)
    return done.returncode == 0


def is_found(repo: Path) -> bool:
    try:
        return repository.find(str(repo)) is not None
    except ForeignRepository:
        return False


def test_a_repository_of_another_user_is_refused_and_the_remedy_works(theirs: Path) -> None:
    with pytest.raises(ForeignRepository) as caught:
        repository.find(str(theirs))
    assert not git_agrees(theirs)
    assert caught.value.hint.endswith(f"git config --global --add safe.directory {theirs}")
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", str(theirs)], check=True)
    assert git_agrees(theirs)
    assert is_found(theirs)


@pytest.mark.parametrize(
    "values",
    [
        ["*"],
        ["*", ""],
        ["*", "", "{repo}"],
        ["{repo}"],
        ["{repo}", ""],
        ["{parent}"],
        ["relative"],
        ["/no/such/place"],
        ["{repo}x"],
    ],
)
def test_safe_directory_means_what_it_means_to_git(theirs: Path, tmp_path: Path, values: list[str]) -> None:
    home = tmp_path / "home"
    configure(home, theirs, values)
    assert is_found(theirs) == git_agrees(theirs)


@pytest.mark.parametrize("value", ["{parent}/*", "{repo}/", "{home}/link", "~/link"])
def test_what_newer_versions_of_git_understand_is_understood(theirs: Path, tmp_path: Path, value: str) -> None:
    home = tmp_path / "home"
    (home / "link").symlink_to(theirs)
    configure(home, theirs, [value])
    assert is_found(theirs)
    configure(home, theirs, [value, ""])
    assert not is_found(theirs)


def configure(home: Path, repo: Path, values: list[str]) -> None:
    names = {"repo": repo, "parent": repo.parent, "home": home}
    lines = [f'\tdirectory = "{value.format(**names)}"\n' for value in values]
    (home / ".gitconfig").write_text("[safe]\n" + "".join(lines))


def test_a_repository_cannot_name_itself_safe(theirs: Path) -> None:
    with (theirs / ".git" / "config").open("a") as file:
        file.write("[safe]\n\tdirectory = *\n")
    assert not git_agrees(theirs)
    assert not is_found(theirs)


@pytest.mark.parametrize("part", [".", ".git"])
def test_each_part_of_it_counts(theirs: Path, part: str) -> None:
    for path in (theirs, theirs / ".git"):
        os.chown(path, 0, 0)
    assert is_found(theirs)
    os.chown(theirs / part, SOMEBODY, SOMEBODY)
    assert not git_agrees(theirs)
    assert not is_found(theirs)


def test_under_sudo_the_callers_own_repository_is_ours(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_UID", str(SOMEBODY))
    assert git_agrees(theirs)
    assert is_found(theirs)
    monkeypatch.setenv("SUDO_UID", "1")
    assert not git_agrees(theirs)
    assert not is_found(theirs)


def test_variables_do_not_answer_for_the_owner(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(theirs / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(theirs))
    assert git_agrees(theirs)  # git takes the variable for consent
    assert not is_found(theirs)


def test_settings_of_another_user_in_a_repository_of_ours_are_refused(theirs: Path) -> None:
    for path in (theirs, theirs / ".git"):
        os.chown(path, 0, 0)
    (theirs / ".rekindle.toml").write_text('progress_dir = "x"\n')
    os.chown(theirs / ".rekindle.toml", SOMEBODY, SOMEBODY)
    assert not is_found(theirs)


def test_a_journal_folder_of_another_user_is_refused(theirs: Path) -> None:
    for path in (theirs, theirs / ".git"):
        os.chown(path, 0, 0)
    found = repository.find(str(theirs))
    assert found is not None
    (theirs / ".claude").mkdir()
    os.chown(theirs / ".claude", SOMEBODY, SOMEBODY)
    with pytest.raises(ForeignRepository):
        found.progress_folder()


def test_a_user_without_privileges_does_not_trust_root_either(tmp_path: Path) -> None:
    """git's rule: only one's own files are one's own."""
    script = (
        "import os, sys\n"
        "from rekindle.adapters.git import ownership\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "sys.exit(int(ownership.is_ours(0)) + 2 * int(not ownership.is_ours(65534)))\n"
    )
    assert subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=False).returncode == 0
    assert ownership.is_ours(0)
