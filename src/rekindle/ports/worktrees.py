"""Where new sessions work: in the folder where they begin, or in their own git worktree."""

from __future__ import annotations

from typing import Protocol

import msgspec


class SessionWorktree(msgspec.Struct, frozen=True):
    """Where a session works: its folder, the work tree around it, the repository. `branch` is set for its own one."""

    cwd: str
    path: str | None = None
    repository: str | None = None
    branch: str | None = None
    notices: tuple[str, ...] = ()


class SessionWorktrees(Protocol):
    """Blocking: call it in a thread. The user's checkout, index and branch are never touched. Raises RekindleError."""

    def around(self, cwd: str) -> SessionWorktree:
        """Where a session without its own worktree works. Makes nothing."""
        ...

    def make(self, cwd: str, name: str, folder: str | None = None) -> SessionWorktree:
        """Make a worktree for a session that began in `cwd`, or use the one with that name."""
        ...
