"""The desktop, through `notify-send`, where there is one."""

from __future__ import annotations

import html
import shutil
from collections.abc import Mapping

from rekindle.adapters.notify.command import run
from rekindle.core.inbox.news import Message
from rekindle.ports.notify import NotDelivered


class DesktopReceiver:
    """See `rekindle.ports.notify.Receiver`."""

    name = "desktop"

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def send(self, message: Message, seconds: float) -> None:
        """Show it. Some desktops read the body as markup, so that it is escaped."""
        program = shutil.which("notify-send", path=self._environment.get("PATH"))
        if program is None:
            raise NotDelivered("notify-send is not installed", "install libnotify, or unset notify_desktop", final=True)
        body = html.escape(message.body, quote=False)
        run([program, "--app-name=rekindle", "--", message.title, body], b"", self._environment, seconds)
