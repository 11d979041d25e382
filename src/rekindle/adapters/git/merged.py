"""Whether a branch is part of what is checked out: git says so, nothing else."""

from __future__ import annotations

from rekindle.adapters.git import process


def is_merged(folder: str, branch: str) -> bool | None:
    """None if git cannot tell: the folder, the branch or a commit is not there."""
    tip = process.line(folder, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")
    head = process.line(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if tip is None or head is None:
        return None
    return process.line(folder, "merge-base", "--is-ancestor", tip, head) is not None
