"""The file callbacks do not reach git's own files: whoever writes them has commands run by the next git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.adapters.callbacks.serving import Callbacks
from rekindle.agents.base.dialect import CallbackRefused
from rekindle.core.git_names import is_git_name


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    _git(folder, "init", "-q")
    _git(folder, "commit", "-q", "--allow-empty", "-m", "begin")
    _git(folder, "init", "-q", "--bare", "vendored")
    _git(folder, "worktree", "add", "-q", "linked")
    _git(folder, "init", "-q", "--separate-git-dir", str(folder / "elsewhere"), "inner")
    (folder / "linked-config").symlink_to(".git/config")
    (folder / "linked-folder").symlink_to(".git")
    return folder


def _git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def _serve(work: Path, method: str, path: str, **more: str) -> object:
    callbacks = Callbacks(str(work.parent / "session"), str(work), "stamp", 1, str(work.parent / "run"), {})
    return callbacks.serve(method, {"sessionId": "s", "path": str(work / path), **more}, 1)


PATHS = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/new/folder/file",
    ".GIT/config",
    ".Git/hooks/post-checkout",
    "linked/.git",
    "inner/.git",
    "sub/.git",
    "sub/.git/config",
    "sub/.giT /config",
    "sub/GIT~1/config",
    "sub/.g\u200cit/config",
    "sub/../.git/info/attributes",
    "linked-config",
    "linked-folder/config",
    "vendored/config",
    "vendored/hooks/post-update",
    "elsewhere/config",
    ".git/worktrees/linked/HEAD",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_file_of_gits_is_written(work: Path, path: str) -> None:
    before = {one: one.read_bytes() for one in work.rglob("*") if one.is_file()}
    answer = _serve(work, "fs/write_text_file", path, content="[core]\n\tfsmonitor = evil\n")
    assert isinstance(answer, CallbackRefused)
    assert "belongs to git" in answer.message
    assert {one: one.read_bytes() for one in work.rglob("*") if one.is_file()} == before


@pytest.mark.parametrize("path", [".git/config", ".git/HEAD", "linked/.git", "vendored/config", "linked-config"])
def test_no_file_of_gits_is_read(work: Path, path: str) -> None:
    """An address in `.git/config` may hold a password."""
    answer = _serve(work, "fs/read_text_file", path)
    assert isinstance(answer, CallbackRefused)
    assert "belongs to git" in answer.message


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/x.yml", "git/config", "a.git.txt", "sub/HEAD", "linked/a", "inner/a"]
)
def test_files_of_the_work_tree_are_served(work: Path, path: str) -> None:
    assert _serve(work, "fs/write_text_file", path, content="mine\n") == {}
    assert _serve(work, "fs/read_text_file", path) == {"content": "mine\n"}


@given(st.lists(st.booleans(), min_size=4, max_size=4), st.sampled_from(["", ".", " ", "...", "::$INDEX_ALLOCATION"]))
def test_no_spelling_of_the_name_is_missed(upper: list[bool], end: str) -> None:
    name = "".join(letter.upper() if is_upper else letter for letter, is_upper in zip(".git", upper, strict=True))
    assert is_git_name(name + end)
    assert not is_git_name(name + "hub")
