"""Refs and worktrees read from git's files are what git itself says; where they may not be, git is asked."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import registered, registered_by_git
from rekindle.adapters.git.ref_files import RefFiles, Unsure
from rekindle.adapters.git.worktree_files import listed

WHO = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "r"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    return root


def git(root: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *WHO, *words], cwd=root, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def by_git(root: Path, *patterns: str) -> dict[str, str]:
    told = git(root, "for-each-ref", "--format=%(refname) %(objectname)", *patterns)
    return dict(line.split(" ") for line in told.splitlines())


@pytest.mark.parametrize("seed", range(4))
def test_refs_and_worktrees_are_what_git_says_whatever_happened_to_them(repo: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ["main", "a", "b/c", "b/d", "work/shop/x", "work/shop/y", "work/shopping"]
    reader = RefFiles(str(repo / ".git"))
    for step in range(25):
        name = chance.choice(names[1:])
        there = f"refs/heads/{name}" in by_git(repo)
        held = {tree.branch for tree in registered_by_git(Git(str(repo)))}
        tree = repo.parent / name.replace("/", "-")
        match chance.choice(["make", "make", "drop", "pack", "move", "tree", "untree", "lock", "detach"]):
            case "make" if not there:
                git(repo, "branch", name)
            case "drop" if there and name not in held:
                git(repo, "branch", "-D", name)
            case "pack":
                git(repo, "pack-refs", "--all")
            case "move" if there and name not in held:
                git(repo, "commit", "-q", "--allow-empty", "-m", str(step))
                git(repo, "branch", "-f", name)
            case "tree" if there and name not in held and not tree.exists():
                git(repo, "worktree", "add", "-q", str(tree), name)
            case "untree" if tree.exists():
                git(repo, "worktree", "remove", "--force", "--force", str(tree))
            case "lock" if tree.exists() and not any(one.locked is not None for one in registered(Git(str(repo)))):
                git(repo, "worktree", "lock", "--reason", "mine alone", str(tree))
            case "detach" if tree.exists():
                git(tree, "switch", "-q", "--detach")
        assert reader.below(["refs/heads"]) == by_git(repo, "refs/heads")
        assert reader.below(["refs/heads/work/shop"], ["refs/heads/a", "refs/heads/gone"]) == by_git(
            repo, "refs/heads/work/shop/", "refs/heads/a"
        )
        for one in names:
            assert reader.commit(f"refs/heads/{one}") == by_git(repo).get(f"refs/heads/{one}")
        told = {tree.path: tree for tree in registered_by_git(Git(str(repo)))}
        assert {tree.path: tree for tree in listed(str(repo))} == told
        assert listed(str(repo))[0].path == str(repo)


def test_what_files_do_not_tell_plainly_is_left_to_git(repo: Path) -> None:
    reader = RefFiles(str(repo / ".git"))
    git(repo, "symbolic-ref", "refs/heads/other", "refs/heads/main")
    with pytest.raises(Unsure):
        reader.commit("refs/heads/other")
    with pytest.raises(Unsure):
        reader.below(["refs/heads"])
    (repo / ".git" / "refs" / "heads" / "other").write_bytes(b"")
    with pytest.raises(Unsure):
        reader.commit("refs/heads/other")
    (repo / ".git" / "refs" / "heads" / "other").unlink()
    assert reader.commit("refs/heads/other") is None
    git(repo, "config", "extensions.refStorage", "reftable")
    with pytest.raises(Unsure):
        reader.commit("refs/heads/main")


def test_the_worktrees_of_a_bare_repository_are_asked_of_git(repo: Path) -> None:
    bare = repo.parent / "bare.git"
    git(repo, "clone", "-q", "--bare", str(repo), str(bare))
    with pytest.raises(Unsure):
        listed(str(bare))
    assert registered(Git(str(bare)))[0].bare
