"""Where a repository's files lead, as git reads them: another work tree, a link in its folder, half a worktree."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from rekindle.adapters.git import linked_worktrees, private_index, repository
from rekindle.adapters.snapshots import taking
from rekindle.ports.errors import ForeignRepository, GitFailed

SESSION = "abcdef0123"


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    _git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("a\n")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "begin")
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "[core]\n\tworktree = {}\n",
        "[core]\n\tworktree\t=\t{}\n",
        "[CORE]WorkTree={}\n",
        "# " + "x" * (1 << 20) + "\n[core]\n\tworktree = {}\n",
    ],
    ids=["plain", "tabs", "capitals", "long"],
)
@pytest.mark.parametrize("file", ["config", "config.worktree"])
def test_a_work_tree_elsewhere_is_refused_however_it_is_written(
    repo: Path, tmp_path: Path, text: str, file: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine\n")
    if file == "config.worktree":
        _git(repo, "config", "extensions.worktreeConfig", "true")
    with (repo / ".git" / file).open("a") as config:
        config.write(text.replace("{}", str(outside)))
    with pytest.raises(ForeignRepository, match="somewhere else"):
        taking.take(str(repo), SESSION, "test", time.time())


def test_nothing_is_written_or_removed_through_a_link_in_the_git_folder(repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index-of-photos").write_text("mine\n")
    os.utime(outside / "index-of-photos", (0, 0))
    (outside / "tmp-letters").mkdir()
    os.utime(outside / "tmp-letters", (0, 0))
    (repo / ".git" / "rekindle").symlink_to(outside)
    (repo / "a.txt").write_text("changed\n")
    with pytest.raises(GitFailed, match="symbolic link"):
        taking.take(str(repo), SESSION, "test", time.time())
    private_index.clean(str(repo / ".git"), time.time())
    assert sorted(os.listdir(outside)) == ["index-of-photos", "tmp-letters"]


@pytest.mark.parametrize("told", [b"gitdir: real\nx\n", b"gitdir: real\0x\n"])
def test_a_git_file_with_more_than_one_line_is_refused(repo: Path, told: bytes) -> None:
    (repo / ".git").rename(repo / "real")
    (repo / ".git").write_bytes(told)
    with pytest.raises(ForeignRepository, match="more than one line"):
        repository.find(str(repo))


def test_a_worktree_whose_maker_was_killed_gets_its_files(repo: Path) -> None:
    path = repo / linked_worktrees.FOLDER / "w"
    branch = linked_worktrees.make(str(repo), "w").branch
    assert branch is not None
    _git(repo, "worktree", "remove", str(path))
    _git(repo, "worktree", "add", "-q", "--no-checkout", "--lock", "--reason", "initializing", str(path), branch)
    assert not (path / "a.txt").exists()
    linked_worktrees.make(str(repo), "w")
    assert (path / "a.txt").read_text() == "a\n"
    assert "locked" not in _git(repo, "worktree", "list", "--porcelain")
