"""Finds branches and worktrees that look like a feature's but that no journal mentions. Never touches them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator

from rekindle.adapters.feature_git.observing import is_dirty
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import registered
from rekindle.adapters.git.repository import own_clones
from rekindle.core.feature import naming
from rekindle.ports.errors import GitFailed
from rekindle.ports.repository_care import Orphan


def orphans(root: str, top: str, branches: Collection[str], features: Collection[str]) -> Iterator[Orphan]:
    """Orphans of a repository. `top` is the folder of all worktrees, `branches` and `features` what journals know."""
    git = Git(root)
    words = {naming.branch_word(name) for name in features}
    trees = registered(git)
    for tree in trees:
        inside = os.path.relpath(os.path.realpath(tree.path), os.path.realpath(top))
        if inside.startswith(os.pardir) or tree.branch in branches:
            continue
        name = os.path.basename(inside)
        is_ours = name in (naming.INTEGRATION, naming.SHARED) or name.startswith(naming.COPY)
        if os.path.dirname(inside) in words and is_ours:
            continue
        yield Orphan(f"worktree {tree.path} ({_state(tree.path)})", f"git worktree remove {shlex.quote(tree.path)}")
    yield from _clones(git, top, words)
    held = {tree.branch for tree in trees}
    listed = git.output("for-each-ref", "--format=%(refname:short)", "refs/heads/work/").decode("utf-8", "replace")
    for name in listed.splitlines():
        if name not in branches:
            where = ", checked out" if name in held else ""
            yield Orphan(f"branch {name} ({_ahead(git, name)}{where})", f"git branch -D {shlex.quote(name)}")


def _clones(git: Git, top: str, words: Collection[str]) -> Iterator[Orphan]:
    """Clones of features that no journal knows, with what their folders of work have."""
    common = git.line("rev-parse", "--path-format=absolute", "--git-common-dir")
    for path in own_clones(common) if common is not None else []:
        word = os.path.basename(path).removesuffix(".git")
        if word in words:
            continue
        tree = os.path.join(top, word, naming.SHARED)
        state = _state(tree) if os.path.isdir(tree) else "its folder of work is gone"
        both = " ".join(shlex.quote(one) for one in (path, os.path.join(top, word)))
        yield Orphan(f"clone {path} ({tree}: {state})", f"rm -rf {both}")


def _state(path: str) -> str:
    if not os.path.isdir(path):
        return "its folder is gone"
    try:
        return "with uncommitted changes" if is_dirty(Git(path)) else "clean"
    except GitFailed:
        return "git cannot read it"


def _ahead(git: Git, branch: str) -> str:
    count = git.line("rev-list", "--count", f"refs/heads/{branch}", "^HEAD")
    return f"{count} commits that HEAD lacks" if count and count != "0" else "no commits of its own"
