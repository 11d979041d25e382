"""Notifications as the user set them: who is told now, and a message to try it out."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping

import msgspec

from rekindle.core.inbox.news import Message
from rekindle.core.inbox.settings import NotifySettings, Ways
from rekindle.ports.errors import RekindleError
from rekindle.ports.notify import NotDelivered, Receiver
from rekindle.runtime.telling import SEND_SECONDS, TellingTerms

log = logging.getLogger(__name__)


class TriedReceiver(msgspec.Struct, frozen=True):
    """How one receiver took the test message. `why` and `remedy` are for one that did not."""

    receiver: str
    taken: bool
    why: str = ""
    remedy: str = ""


class Notifying:
    """Sends a test message without the daemon."""

    def __init__(
        self,
        settings: Callable[[], NotifySettings],
        receivers: Callable[[Ways], Mapping[str, Receiver]],
        clock: Callable[[], float],
    ) -> None:
        self.settings = settings
        self._receivers = receivers
        self._clock = clock

    def test(self) -> list[TriedReceiver]:
        """Send a message to every receiver that is set. Raises UsageError for settings that cannot be used."""
        told = Message(
            id=f"n{secrets.token_hex(6)}",
            about="test",
            title="rekindle: a test message",
            link="rekindle inbox",
            at=self._clock(),
        )
        return [_tried(name, one, told) for name, one in self._receivers(self.settings().ways).items()]


def _tried(name: str, receiver: Receiver, message: Message) -> TriedReceiver:
    try:
        receiver.send(message, SEND_SECONDS)
    except NotDelivered as error:
        return TriedReceiver(name, taken=False, why=error.message, remedy=error.hint)
    return TriedReceiver(name, taken=True)


class CurrentTerms:
    """The user's settings as the daemon needs them, read again when the file has changed.

    Settings that cannot be used tell nobody, which the log and `doctor` say. They never stop the daemon.
    """

    def __init__(
        self,
        stamp: Callable[[], object],
        settings: Callable[[], NotifySettings],
        receivers: Callable[[Ways], Mapping[str, Receiver]],
    ) -> None:
        self._stamp = stamp
        self._settings = settings
        self._receivers = receivers
        self._seen: object = object()
        self._terms = TellingTerms()

    def __call__(self) -> TellingTerms:
        """The terms that hold now."""
        stamp = self._stamp()
        if stamp != self._seen:
            self._seen = stamp
            self._terms = self._read()
        return self._terms

    def _read(self) -> TellingTerms:
        try:
            found = self._settings()
        except RekindleError as error:
            log.warning("nobody is told outside the terminal: %s (%s)", error.message, error.hint)
            return TellingTerms()
        for problem in found.problems:
            log.warning("%s", problem)
        return TellingTerms(found.rules, self._receivers(found.ways), found.with_text, found.report_at)
