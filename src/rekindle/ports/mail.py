"""Messages from any host of a fleet to the host that has a session.

A message is recorded before anybody acts on it, and stays until something has come of it. Only the host that has the
session takes it. If the session moves meanwhile, the next host does. What came of it is written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rekindle.core.mail import MailKind


@dataclass(frozen=True)
class Mail:
    """A message. `id` is chosen by the sender: posting it again is the same message. `body` is a JSON object.

    `by` is who asks, `sender` the host on which they ask. `after` is the number of the last fact in the store when it
    was first taken. `outcome` is None until something came of it; see `rekindle.core.mail.MailTold`.
    """

    id: str
    session: str
    kind: MailKind
    body: str
    by: str
    sender: str
    at: float
    taken_by: str | None = None
    after: int | None = None
    outcome: str | None = None


class Mailbox(Protocol):
    """Blocking. `host` is the caller's own name. Everything raises StoreError if the store cannot be reached."""

    @property
    def host(self) -> str:
        """The host in whose name messages are taken."""
        ...

    def post(self, mail: Mail) -> Mail:
        """Record a message; on disk when this returns. One with a known id is left as it is. Returns what is there.

        After a StoreError it is not known whether it was recorded: post it again.
        """
        ...

    def find(self, mail: str) -> Mail | None:
        """A message by its id."""
        ...

    def due(self) -> list[Mail]:
        """Messages to the sessions that this host works with, which nothing has come of yet, oldest first."""
        ...

    def take(self, mail: str) -> Mail | None:
        """This host is about to carry a message out. None: something came of it, or another host has the session.

        Whoever is killed after this takes it again. `after` stays what it was the first time.
        """
        ...

    def settle(self, mail: str, outcome: str, at: float) -> bool:
        """Write what came of a message. False: that is known already, or another host has the session now."""
        ...

    def withdraw(self, mail: str, outcome: str, at: float) -> bool:
        """Nobody shall carry it out. False: somebody has taken it, or something has come of it."""
        ...

    def forget(self, before: float) -> int:
        """Remove messages that were settled before this time; returns how many. The sessions have what they said."""
        ...

    def close(self) -> None:
        """Release the store."""
        ...
