"""Whether a repository was moved since somebody last worked in it, and who has to be told.

Commands that only read change nothing: others may be working in it under its other path.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from rekindle.ports.errors import OwnedError, RekindleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rekindle.ports.daemon import Daemon
    from rekindle.ports.identity import RepositoryIdentities
    from rekindle.ports.workspace import Checkout


class Moved(NamedTuple):
    """Where a repository was, and where it is."""

    before: str
    now: str

    @property
    def next(self) -> str:
        """What will be done about it."""
        return (
            f"{self.before} is {self.now} now: the next `rekindle resume` relinks its worktrees, "
            "updates its sessions and continues, if nobody is at work in it by then; until then nothing is changed"
        )


class Followed(NamedTuple):
    """The result for a moved repository: how many sessions moved with it, or why it was left unchanged."""

    moved: Moved
    sessions: int = 0
    refusal: OwnedError | None = None


class MovedRepositories:
    """Recognises moved repositories."""

    def __init__(
        self,
        find: Callable[[str], Checkout | None],
        identities: RepositoryIdentities,
        daemon: Callable[[], Daemon],
    ) -> None:
        self._find = find
        self._identities = identities
        self._daemon = daemon

    def moved(self, cwd: str | None = None) -> Moved | None:
        """Whether the repository around a folder was moved. Changes nothing."""
        try:
            repo = self._find(cwd or os.getcwd())
            found = self._identities.find(repo) if repo is not None else None
        except (RekindleError, OSError):
            return None  # the code that needs the repository reports what is wrong with it
        if repo is None or found is None or found.verdict != "moved" or found.before is None:
            return None
        return Moved(found.before, repo.root)

    def follow(self, cwd: str | None = None) -> Followed | None:
        """Register a moved repository at its new place. None if it was not moved.

        If somebody is working in it, its worktrees and sessions stay as they were.
        """
        found = self.moved(cwd)
        if found is None:
            return None
        try:
            told = self._daemon().ask("repository_seen", cwd=found.now)
        except OwnedError as refusal:
            return Followed(found, refusal=refusal)
        return Followed(found, sessions=len(told["moved"]))
