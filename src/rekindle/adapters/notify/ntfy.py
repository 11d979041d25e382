"""A topic of ntfy (ntfy.sh, or a server of one's own). Published as JSON, so that titles may have any characters."""

from __future__ import annotations

import msgspec

from rekindle.adapters.notify.posting import post
from rekindle.core.inbox.news import Message


class NtfyReceiver:
    """See `rekindle.ports.notify.Receiver`."""

    name = "ntfy"

    def __init__(self, topic: str, token: str = "") -> None:
        self._server, _, self._topic = topic.rpartition("/")
        self._token = token

    def send(self, message: Message, seconds: float) -> None:
        """Publish it."""
        about = {"topic": self._topic, "title": message.title, "message": message.body, "tags": ["rekindle"]}
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self._token}"} if self._token else {}
        post(f"{self._server}/", msgspec.json.encode(about), headers, seconds)
