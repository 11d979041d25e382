"""The receivers that the user's settings name."""

from __future__ import annotations

from collections.abc import Mapping

from rekindle.adapters.notify.apprise_service import AppriseReceiver
from rekindle.adapters.notify.command import CommandReceiver
from rekindle.adapters.notify.desktop import DesktopReceiver
from rekindle.adapters.notify.ntfy import NtfyReceiver
from rekindle.adapters.notify.webhook import WebhookReceiver
from rekindle.core.inbox.settings import Ways
from rekindle.ports.notify import Receiver


def receivers_of(ways: Ways, environment: Mapping[str, str]) -> dict[str, Receiver]:
    """By name, in the order of the settings."""
    every: dict[str, Receiver] = {
        "command": CommandReceiver(ways.command, environment),
        "webhook": WebhookReceiver(ways.webhook, ways.webhook_secret),
        "ntfy": NtfyReceiver(ways.ntfy, ways.ntfy_token),
        "desktop": DesktopReceiver(environment),
        "apprise": AppriseReceiver(ways.apprise),
    }
    return {name: every[name] for name in ways.names}
