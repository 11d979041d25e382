"""What the user has set about notifications: the rules, the ways, and what is wrong with them. Pure.

Only the user's own settings file says this. A repository cannot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, cast

import msgspec

from rekindle.core.inbox.news import ABOUT, About
from rekindle.core.inbox.telling import TellRules
from rekindle.core.quantities import seconds_in

_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_HOURS: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*-\s*([01]?\d|2[0-3]):([0-5]\d)")
#: The keys that are about notifications, in the order in which a person thinks of them.
KEYS: Final = (
    "notify_command",
    "notify_webhook",
    "notify_webhook_secret",
    "notify_ntfy",
    "notify_ntfy_token",
    "notify_desktop",
    "notify_apprise",
    "notify_about",
    "notify_text",
    "notify_dwell",
    "notify_hourly",
    "notify_quiet",
    "notify_report_at",
)


class Ways(msgspec.Struct, frozen=True):
    """How people are told. What is empty is not used."""

    command: tuple[str, ...] = ()
    webhook: str = ""
    webhook_secret: str = ""
    ntfy: str = ""
    ntfy_token: str = ""
    desktop: bool = False
    apprise: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The ways that are used."""
        used = {
            "command": self.command,
            "webhook": self.webhook and self.webhook_secret,
            "ntfy": self.ntfy,
            "desktop": self.desktop,
            "apprise": self.apprise,
        }
        return tuple(name for name, value in used.items() if value)


class NotifySettings(msgspec.Struct, frozen=True):
    """`problems` says what is set and cannot be used, with the remedy. `report_at` is a minute of the day."""

    ways: Ways = Ways()
    rules: TellRules = TellRules()
    with_text: bool = False
    problems: tuple[str, ...] = ()
    report_at: int | None = None


def notify_settings(values: Mapping[str, object]) -> NotifySettings:
    """What valid values of these keys mean."""

    def text(key: str) -> str:
        return str(values.get(key) or "")

    ways = Ways(
        command=tuple(words_in(text("notify_command")) or ()),
        webhook=text("notify_webhook"),
        webhook_secret=text("notify_webhook_secret"),
        ntfy=text("notify_ntfy"),
        ntfy_token=text("notify_ntfy_token"),
        desktop=text("notify_desktop") == "on",
        apprise=text("notify_apprise"),
    )
    usual = TellRules()
    report_at = minute_in(text("notify_report_at"))
    about = about_in(text("notify_about")) or usual.about
    rules = TellRules(
        about if report_at is None else (*about, "report"),
        seconds_in(text("notify_dwell")) or usual.dwell,
        int(text("notify_hourly") or usual.hourly),
        hours_in(text("notify_quiet")),
    )
    problems = []
    if ways.webhook and not ways.webhook_secret:
        problems.append(
            "notify_webhook is set and is not used: it has no secret to sign with — set one: "
            "rekindle config set notify_webhook_secret -"
        )
    return NotifySettings(ways, rules, text("notify_text") == "on", tuple(problems), report_at)


def about_in(text: str) -> tuple[About, ...] | None:
    """The occasions that a list with commas names; None if it names none, or an unknown one."""
    named = [word.strip() for word in text.split(",") if word.strip()]
    return cast(tuple[About, ...], tuple(named)) if named and all(word in ABOUT for word in named) else None


def hours_in(text: str) -> tuple[int, int] | None:
    """From when to when, in minutes of the day: `22:00-07:00`. None for what is not a valid span."""
    found = _HOURS.fullmatch(text.strip())
    return (int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])) if found else None


def minute_in(text: str) -> int | None:
    """The minute of the day that `07:30` is. None for what is not a valid time."""
    found = _CLOCK.fullmatch(text.strip())
    return int(found[1]) * 60 + int(found[2]) if found else None


def words_in(text: str) -> list[str] | None:
    """The words of a command; no shell reads them. None if the quotes do not match, or there are none."""
    import shlex

    try:
        return shlex.split(text) or None
    except ValueError:
        return None


def is_safe_url(text: str) -> bool:
    """Whether what is sent there cannot be read on the way: https, or http to this machine."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if not host or any(not char.isprintable() or char.isspace() for char in text) or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))


def is_topic(text: str) -> bool:
    """Whether this is the address of a topic of ntfy: a server, and one word after it."""
    path = "/" + text.split("://", 1)[-1].partition("/")[2]
    return is_safe_url(text) and re.fullmatch(r"/[A-Za-z0-9_-]{1,64}", path) is not None


def masked_url(text: str) -> str:
    """The address without what may be a secret: whoever knows a topic can read it."""
    scheme, found, rest = text.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}/…" if found else "…"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
