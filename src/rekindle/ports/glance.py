"""A repository at a glance: what is known about its features without reading a journal that has not changed."""

from __future__ import annotations

from typing import Any, Protocol

from rekindle.ports.workspace import Checkout, RunOwner

#: A summary of a journal's analysis; see `rekindle.core.journal.summary`. One with `error` is unreadable.
Summary = dict[str, Any]


class Glance(Protocol):
    """Light: `rekindle` with no arguments runs as often as `git status`."""

    @property
    def repository(self) -> Checkout: ...

    @property
    def progress(self) -> str:
        """The folder of the journals."""
        ...

    def summaries(self) -> dict[str, Summary]:
        """The summary of every feature, by name."""
        ...

    def owner(self, feature: str) -> RunOwner | None:
        """Who holds the feature's run."""
        ...

    def analysed(self, feature: str, owned: str) -> Summary:
        """The summary of one feature, read now, while somebody holds its run `owned`."""
        ...

    def is_foreign(self, feature: str) -> bool:
        """Whether this user's rekindle has written nothing into the feature's journal."""
        ...
