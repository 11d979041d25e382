"""A repository that was moved since somebody last worked in it: whether it was, and who has to be told.

Those who only look change nothing: others may be at work in it, by its other name.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import OwnedError, RekindleError
from rekindle.ports.identity import RepositoryIdentities
from rekindle.ports.workspace import Checkout


class Moved(msgspec.Struct, frozen=True):
    """Where a repository was, and where it is."""

    before: str
    now: str

    @property
    def next(self) -> str:
        """What will be done about it."""
        return (
            f"{self.before} is {self.now} now: the next `rekindle resume` links its worktrees again, "
            "tells its sessions and goes on, if nobody is at work in it by then; until then nothing is changed"
        )


class Followed(msgspec.Struct, frozen=True):
    """What became of a moved repository: how many sessions moved with it, or why it is left as it was."""

    moved: Moved
    sessions: int = 0
    refusal: OwnedError | None = None


class MovedRepositories:
    """Knows repositories again."""

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
            return None  # whoever needs the repository says what is wrong with it
        if repo is None or found is None or found.verdict != "moved" or found.before is None:
            return None
        return Moved(found.before, repo.root)

    def follow(self, cwd: str | None = None) -> Followed | None:
        """Have a moved repository known where it is. None if it was not moved.

        If somebody is at work in it, its worktrees and sessions stay as they were.
        """
        found = self.moved(cwd)
        if found is None:
            return None
        try:
            told = self._daemon().ask("repository_seen", cwd=found.now)
        except OwnedError as refusal:
            return Followed(found, refusal=refusal)
        return Followed(found, sessions=len(told["moved"]))
