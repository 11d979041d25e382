"""Branches and worktrees that look like a feature's and that no journal knows of. Only looked for, never touched."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterator

from rekindle.adapters.feature_git.observing import is_dirty
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import registered
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
    held = {tree.branch for tree in trees}
    listed = git.output("for-each-ref", "--format=%(refname:short)", "refs/heads/work/").decode("utf-8", "replace")
    for name in listed.splitlines():
        if name not in branches:
            where = ", checked out" if name in held else ""
            yield Orphan(f"branch {name} ({_ahead(git, name)}{where})", f"git branch -D {shlex.quote(name)}")


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
