"""A signed webhook: JSON by POST, with a signature that the receiver can check.

The signature is HMAC-SHA256 over the time, a dot and the body: an old message cannot be sent again as a new one.
"""

from __future__ import annotations

import hashlib
import hmac
import time

import msgspec

from rekindle.adapters.notify.posting import post
from rekindle.core.inbox.news import Message


class WebhookReceiver:
    """See `rekindle.ports.notify.Receiver`."""

    name = "webhook"

    def __init__(self, url: str, secret: str) -> None:
        self._url = url
        self._secret = secret

    def send(self, message: Message, seconds: float) -> None:
        """Any status of 200 to 299 means that it was taken."""
        body, now = msgspec.json.encode(message), str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "X-Rekindle-Id": message.id,
            "X-Rekindle-Timestamp": now,
            "X-Rekindle-Signature": f"sha256={signature(self._secret, now, body)}",
        }
        post(self._url, body, headers, seconds)


def signature(secret: str, when: str, body: bytes) -> str:
    """What the receiver computes too."""
    return hmac.new(secret.encode(), when.encode() + b"." + body, hashlib.sha256).hexdigest()
