"""Keeps the progress folder out of version control: a tracked journal would be rewritten by every checkout."""

from __future__ import annotations

import os
import shlex

from rekindle.adapters.git import process
from rekindle.adapters.git.repository import Repository
from rekindle.ports.errors import JournalTracked


def keep_untracked(repository: Repository, folder: str) -> None:
    """Refuse a tracked progress folder, and list an untracked one in git's `info/exclude` (once)."""
    if repository.top is None:
        return
    relative = os.path.relpath(folder, repository.root)
    if relative.startswith(os.pardir) or os.path.isabs(relative):
        return
    tracked = is_tracked(repository.root, relative)
    if tracked is None:
        raise JournalTracked(
            f"git cannot say whether {relative} is under version control",
            f"see what `git ls-files -- {shlex.quote(relative)}` says in {repository.root}, and mend that first",
        )
    if tracked:
        raise JournalTracked(
            f"{relative} is under version control; a checkout would rewrite the journal",
            f"take it out with `git rm -r --cached {shlex.quote(relative)}` and commit (the files stay where they are)",
        )
    repository.exclude(folder)


def is_tracked(root: str, relative: str) -> bool | None:
    """Whether git tracks anything below this folder. None if git cannot say: that is not a no."""
    found = process.output(root, "ls-files", "-z", "--", relative, seconds=30)
    return bool(found) if found is not None else None
