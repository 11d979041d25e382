"""A receiver of notifications in memory."""

from __future__ import annotations

import threading

from rekindle.core.inbox.news import Message
from rekindle.ports.notify import NotDelivered


class FakeReceiver:
    """See `rekindle.ports.notify.Receiver`. `fails` are raised in turn; it hangs while `free` is not set."""

    def __init__(self, name: str = "fake", *fails: NotDelivered) -> None:
        self.name = name
        self.taken: list[Message] = []
        self.tried: list[Message] = []
        self.fails = list(fails)
        self.free = threading.Event()
        self.free.set()

    def send(self, message: Message, seconds: float) -> None:
        self.tried.append(message)
        if not self.free.wait(seconds):
            raise NotDelivered(f"it took longer than {seconds:g} s", unsure=True)
        if self.fails:
            raise self.fails.pop(0)
        self.taken.append(message)
