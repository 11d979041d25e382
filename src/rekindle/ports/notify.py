"""Telling people outside the terminal: one receiver for each way that the user has set."""

from __future__ import annotations

from typing import Protocol

from rekindle.core.inbox.news import Message
from rekindle.ports.errors import RekindleError


class NotDelivered(RekindleError):
    """A receiver did not take a message. `unsure`: it may have arrived all the same. `final`: do not try again."""

    code = "not_delivered"

    def __init__(self, message: str, hint: str = "", *, unsure: bool = False, final: bool = False) -> None:
        super().__init__(message, hint)
        self.unsure = unsure
        self.final = final


class Receiver(Protocol):
    """One way to tell a person. It can be used from any thread, by one thread at a time."""

    @property
    def name(self) -> str:
        """What the settings call it."""
        ...

    def send(self, message: Message, seconds: float) -> None:
        """Hand the message over; returns when it was taken. Takes not much longer than `seconds`.

        Raises NotDelivered, which never contains a secret of the settings.
        """
        ...
