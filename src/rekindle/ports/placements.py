"""Which host of a fleet has which session. A session is on one host at a time, and only that host writes about it.

Who has died is not decided here: the engine of the fleet does that, and then says who takes a session over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError


class PlacedElsewhere(OwnedError):
    """The session is not where the caller thought it was."""

    code = "placed_elsewhere"


def on_its_host(session: str, host: str, what: str) -> PlacedElsewhere:
    """Something that can be done on the session's own host only."""
    return PlacedElsewhere(
        f"session {session} is on host {host}: {what}",
        f"run this on {host}; if that host is gone: rekindle fleet takeover {session} --host-is-gone",
    )


@dataclass(frozen=True)
class Placement:
    """A session, the host that has it, and since when (seconds since 1970).

    `is_in_place`: that host works with it; before, it is putting it in place. `copied_at`: all that there was of it at
    that time is kept off its host; None: nothing was copied yet.
    """

    session: Session
    host: str
    since: float
    is_in_place: bool = True
    copied_at: float | None = None


class Placements(Protocol):
    """Blocking. `host` is the caller's own name. Everything raises StoreError if the store cannot be reached."""

    @property
    def host(self) -> str:
        """The host in whose name sessions are taken."""
        ...

    def find(self, session: str) -> Placement | None:
        """Where a session is; None if there is none of that id."""
        ...

    def everything(self) -> list[Placement]:
        """All sessions of all hosts, oldest first."""
        ...

    def named(self, prefix: str) -> dict[str, str]:
        """The ids of sessions of all hosts that begin with `prefix`, and the host that has each."""
        ...

    def take(self, session: str, *, before: str, at: float) -> Placement:
        """Give the session to this host, if it is still on the host `before`; on disk when this returns.

        From then on every write of that host about it is refused. Of several that try at once, one succeeds. Raises
        PlacedElsewhere. Taking what this host has already, from itself, changes nothing.

        The session is not in this host's part of the store before its first write about it: who crashes meanwhile
        takes it again.
        """
        ...

    def copied(self, session: str, at: float) -> None:
        """All that there was of a session at this time is kept off this host. Nothing if another host has it."""
        ...

    def uncopied(self) -> list[str]:
        """The sessions that this host works with, and that have changed since they were last copied, or never were."""
        ...

    def close(self) -> None:
        """Release the store."""
        ...


class CommitFeed(Protocol):
    """Says when something was committed by any host. Blocking: it has a thread of its own."""

    def wait(self, seconds: float) -> bool:
        """Wait until something may have been committed since the last call; False if nothing was for so long.

        True as well if the feed was cut off and something may have been missed. Raises StoreError if the store cannot
        be reached now; call it again.
        """
        ...

    def close(self) -> None:
        """Stop listening."""
        ...
