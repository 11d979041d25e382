"""Keeps the progress folder out of version control: a tracked journal would be rewritten by every checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from rekindle.adapters.repository import Repository
from rekindle.ports.errors import JournalTracked


def keep_untracked(repository: Repository, folder: str) -> None:
    """Refuse a tracked progress folder, and list an untracked one in git's `info/exclude` (once)."""
    if repository.top is None:
        return
    relative = os.path.relpath(folder, repository.root)
    if relative.startswith(os.pardir) or os.path.isabs(relative):
        return
    if is_tracked(repository.root, relative):
        raise JournalTracked(
            f"{relative} is under version control; a checkout would rewrite the journal",
            f"take it out with `git rm -r --cached {relative}` and commit (the files stay where they are)",
        )
    pattern = "/" + relative.replace(os.sep, "/") + "/"
    exclude = Path(repository.common, "info", "exclude")
    try:
        text = exclude.read_text("utf-8", "surrogateescape") if exclude.exists() else ""
        if pattern not in text.splitlines():
            exclude.parent.mkdir(exist_ok=True)
            ended = "" if not text or text.endswith("\n") else "\n"
            with exclude.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{ended}{pattern}\n")
    except OSError:
        return  # a read-only git folder: the journal works all the same, `git status` shows it


def is_tracked(root: str, relative: str) -> bool:
    """Whether git tracks anything below this folder. False where git cannot say."""
    try:
        done = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--", f":(literal){relative}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and bool(done.stdout)
