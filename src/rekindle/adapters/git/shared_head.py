"""What is checked out in a work tree, and whether other machines can fetch it."""

from __future__ import annotations

from rekindle.adapters.git.git import Git


def shared_head(top: str) -> tuple[str, bool] | None:
    """The commit that is checked out, and whether a remote has it, as far as this clone knows. None: no commit."""
    git = Git(top)
    commit = git.line("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    if commit is None:
        return None
    held = git.output("for-each-ref", "--count=1", "--format=%(refname)", f"--contains={commit}", "refs/remotes/")
    return commit, bool(held.strip())
