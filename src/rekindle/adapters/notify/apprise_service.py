"""Any service that Apprise knows. Apprise is an extra: `pip install 'rekindle[apprise]'`."""

from __future__ import annotations

import importlib
from typing import Any

from rekindle.core.inbox.news import Message
from rekindle.ports.notify import NotDelivered


class AppriseReceiver:
    """See `rekindle.ports.notify.Receiver`. Apprise has its own time limits."""

    name = "apprise"

    def __init__(self, url: str) -> None:
        self._url = url

    def send(self, message: Message, _seconds: float) -> None:
        """Hand it to Apprise, which says only whether it was taken."""
        try:
            library: Any = importlib.import_module("apprise")
        except ImportError as error:
            raise NotDelivered("Apprise is not installed", "pip install 'rekindle[apprise]'", final=True) from error
        service = library.Apprise()
        if not service.add(self._url):
            raise NotDelivered("Apprise does not understand its address", "check notify_apprise", final=True)
        if not service.notify(title=message.title, body=message.body):
            raise NotDelivered("Apprise could not deliver it", unsure=True)
