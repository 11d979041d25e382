"""Reads which worktrees a repository has from git's own files, as `git worktree list` does, without starting git."""

from __future__ import annotations

import os
from functools import lru_cache

import msgspec

from rekindle import files
from rekindle.adapters.git import pointers, repository
from rekindle.adapters.git.ref_files import RefFiles, Unsure, read_ref
from rekindle.ports.errors import ForeignRepository

_HEADS = b"ref: refs/heads/"
_NOTHING = "0" * 40
_LONGEST_REASON = 1 << 16


class Registered(msgspec.Struct, frozen=True):
    """A worktree as git knows it. `locked` is the reason, which may be empty; None: it is not."""

    path: str
    head: str | None = None
    branch: str | None = None
    locked: str | None = None
    bare: bool = False


@lru_cache(maxsize=64)
def refs_of(common: str) -> RefFiles:
    """The refs of a repository by its common git folder; what was read of them once is read again where it changed."""
    return RefFiles(common)


def listed(folder: str) -> list[Registered]:
    """All worktrees of the repository around a folder, the main one first. Raises Unsure."""
    try:
        found = repository.find(folder)
    except (OSError, ForeignRepository) as error:
        raise Unsure from error
    if found is None or found.root == found.common or found.common != os.path.join(found.root, ".git"):
        raise Unsure
    trees = [_tree(found.common, found.common, found.root)]
    entries = os.path.join(found.common, "worktrees")
    try:
        names = sorted(os.listdir(entries))
    except FileNotFoundError:
        names = []
    for name in names:
        entry = os.path.join(entries, name)
        dot_git = pointers.worktree_file(entry)
        if dot_git is None or not os.path.isabs(dot_git) or os.path.basename(dot_git) != ".git":
            raise Unsure
        trees.append(_tree(found.common, entry, os.path.dirname(dot_git)))
    return trees


def head_of(common: str, git_dir: str) -> tuple[str | None, str | None]:
    """The commit and the branch that a worktree has checked out. Raises Unsure."""
    told = read_ref(os.path.join(git_dir, "HEAD"))
    if told is None:
        raise Unsure
    if told.startswith(_HEADS):
        branch = told.removeprefix(_HEADS).decode("utf-8", "surrogateescape")
        return refs_of(common).commit(f"refs/heads/{branch}"), branch
    if told.startswith(b"ref: "):
        raise Unsure
    return told.decode(), None


def _tree(common: str, git_dir: str, path: str) -> Registered:
    head, branch = head_of(common, git_dir)
    return Registered(path, head or _NOTHING, branch, _lock(git_dir) if git_dir != common else None)


def _lock(git_dir: str) -> str | None:
    try:
        reason = files.read_short(os.path.join(git_dir, "locked"), _LONGEST_REASON)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unsure from error
    return os.fsdecode(reason.strip())
