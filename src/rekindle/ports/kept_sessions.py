"""The sessions in the store and in their folders, read without the daemon, even while one is writing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from rekindle.core.daemon_lives import DaemonLives
from rekindle.core.fact import Fact
from rekindle.core.inbox.told import Tellings
from rekindle.core.session.state import Session
from rekindle.core.streams import StreamKind


class KeptSessions(Protocol):
    """Reads only. Raises RekindleError for a store that cannot be read; without a store there are no sessions."""

    def is_there(self) -> bool:
        """Whether there is a store."""
        ...

    def has_folders(self) -> bool:
        """Whether any session has a folder."""
        ...

    def rows(self) -> list[dict[str, Any]]:
        """The sessions, oldest first: columns of the store, with what a list says if its agent is alive, and if not."""
        ...

    def bodies(self) -> list[str]:
        """The complete sessions from the store, oldest first."""
        ...

    def sessions(self) -> list[Session]:
        """The sessions, oldest first, except those that cannot be read."""
        ...

    def facts(self, session: str) -> list[str]:
        """The facts of a session as JSON texts, oldest first."""
        ...

    def placed(
        self, stream: StreamKind, subject: str | None = None, kinds: Collection[str] = ()
    ) -> list[tuple[int, str, Fact]]:
        """The facts of a stream, with their places and subjects, in order: of one subject, or of these kinds only.

        Facts that cannot be read (a newer version wrote them) are left out.
        """
        ...

    def daemon_lives(self) -> DaemonLives | None:
        """How the daemons of this store have come and gone; None if there was none."""
        ...

    def tellings(self, now: float) -> Tellings:
        """What people were told outside the terminal, as far as the daemon remembers it at this time."""
        ...

    def is_alive(self, session: str) -> bool:
        """Whether somebody holds the session's lock: its keeper is alive, whatever the store says."""
        ...

    def has_keeper(self, session: str, attempt: int) -> bool:
        """Whether the keeper of this attempt is alive."""
        ...

    def folders(self) -> list[str]:
        """The sessions that have a folder, by name, whatever the store knows."""
        ...

    def record(self, place: str) -> bytes | None:
        """An agent's own record of a conversation as it is on disk; None if it cannot be read."""
        ...

    def begun(self, session: str) -> Mapping[str, Any]:
        """What was recorded when the session began; empty if that is gone."""
        ...

    def environment(self, session: str) -> Mapping[str, str] | None:
        """The environment that the session's agent gets; None if it is gone."""
        ...

    def hosts(self) -> Mapping[str, str]:
        """Which host of a fleet has each session; empty on one machine."""
        ...

    def folder(self, session: str) -> str:
        """Where the session's files are, or were."""
        ...
