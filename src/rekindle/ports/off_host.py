"""Copies of sessions off their host, and how another host gets a session back from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rekindle.core.off_host import CopyState
from rekindle.core.session.facts import Cut
from rekindle.core.session.state import Session


@dataclass(frozen=True)
class Shipped:
    """What one look has copied. All that was there at `at` is kept elsewhere now; `tree` is the newest snapshot.

    `lags`: the agent's own record has something that the vault does not have yet. It will in a moment.
    """

    at: float
    bytes: int
    tree: int = 0
    lags: bool = False


@dataclass(frozen=True)
class Brought:
    """A session as it is on this host now, before anything is started.

    `cut` is what its agent was doing when it was last heard of. `missing` says what may be lost.
    """

    state: CopyState
    cwd: str
    repository: str | None
    worktree: str | None
    branch: str | None
    cut: Cut
    missing: list[str] = field(default_factory=list)


class OffHostCopies(Protocol):
    """Blocking, and may take long: it belongs in a thread. Raises RekindleError."""

    def ship(self, session: Session, now: float) -> Shipped:
        """Copy what is new of a session. Raises BlobFenced if another host has it."""
        ...

    def bring(
        self, session: Session, attempt: int, environment: Mapping[str, str], now: float, base: str = ""
    ) -> Brought:
        """Claim a session for its next attempt, and put all that was copied in place on this host. Nothing is deleted.

        `base`: the commit that its branch begins at, if neither the branch nor a snapshot got here.

        Doing it again after a crash finds what is there, and goes on.
        """
        ...

    def read(self, session: str, now: float) -> str:
        """Make what was copied of a session readable on this host, and return the folder, which is like the session's.

        Asking again adds what was copied since. The session stays where it is, and nothing of it is changed.
        """
        ...
