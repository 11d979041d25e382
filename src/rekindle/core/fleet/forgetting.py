"""Which hosts of a fleet are listed where, and when one that is gone may leave the list. Pure.

A host that is forgotten loses its line and nothing else: who has which session, and what was said, stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from rekindle.core.fleet.needs import is_fleet_job
from rekindle.core.session.words import OVER

#: A host that was seen within so many seconds may only be restarting, or be cut off.
FORGOTTEN_AFTER: Final = 3600.0


class Seen(Protocol):
    """A host, and how many seconds ago it said that it is there."""

    @property
    def host(self) -> str: ...

    @property
    def seen_seconds_ago(self) -> float: ...


Host = TypeVar("Host", bound=Seen)


@dataclass(frozen=True)
class LeftSession:
    """A session that a host has: its status in one word, and the job that it belongs to, if any."""

    id: str
    status: str
    job: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether nobody has to do anything about it."""
        return self.status in OVER

    @property
    def command(self) -> str:
        """What brings it to another host. Sessions of the fleet's jobs are moved by the engine."""
        if is_fleet_job(self.job):
            return f"rekindle job show {self.job}"
        return f"rekindle fleet takeover {self.id} --host-is-gone"


def in_order(hosts: Iterable[Host], silent_seconds: float) -> list[Host]:
    """Hosts as a list shows them: those that are there by name, then those that are silent, the longest silent last."""
    return sorted(
        hosts,
        key=lambda one: (0.0 if one.seen_seconds_ago < silent_seconds else one.seen_seconds_ago, one.host),
    )


def unended(sessions: Sequence[LeftSession]) -> list[LeftSession]:
    """The sessions that keep a host from being forgotten."""
    return [one for one in sessions if not one.has_ended]
