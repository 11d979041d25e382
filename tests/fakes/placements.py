"""Placements in memory: hosts that share one `Fleet`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rekindle.core.session.state import Session
from rekindle.ports.hosts import HostReport, HostState
from rekindle.ports.mail import Mail
from rekindle.ports.placements import PlacedElsewhere, Placement


@dataclass
class Fleet:
    """What all hosts see."""

    placed: dict[str, Placement] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)
    number: int = 0
    #: the number of the last fact that any host has committed
    last: Callable[[], int] = lambda: 0
    letters: dict[str, Mail] = field(default_factory=dict)
    settled: dict[str, float] = field(default_factory=dict)
    hosts: dict[str, tuple[HostState, float, HostReport]] = field(default_factory=dict)

    def begin(self, session: Session, host: str) -> None:
        """A host makes a session."""
        with self.changed:
            self.placed[session.id] = Placement(session, host, session.created_at)
            self.tell()

    def arrive(self, session: str) -> None:
        """Its host works with it from now on."""
        with self.changed:
            self.placed[session] = replace(self.placed[session], is_in_place=True)
            self.tell()

    def tell(self) -> None:
        """Something was committed."""
        self.number += 1
        self.changed.notify_all()


class FakePlacements:
    """See `rekindle.ports.placements.Placements`."""

    def __init__(self, fleet: Fleet, host: str) -> None:
        self.host = host
        self._fleet = fleet

    def find(self, session: str) -> Placement | None:
        return self._fleet.placed.get(session)

    def everything(self) -> list[Placement]:
        return sorted(self._fleet.placed.values(), key=lambda one: (one.session.created_at, one.session.id))

    def named(self, prefix: str) -> dict[str, str]:
        return {one.session.id: one.host for one in self.everything() if one.session.id.startswith(prefix)}

    def take(self, session: str, *, before: str, at: float) -> Placement:
        with self._fleet.changed:
            found = self._fleet.placed.get(session)
            if found is None or found.host != before:
                raise PlacedElsewhere(f"session {session} is not on {before}")
            if before != self.host:
                self._fleet.placed[session] = Placement(found.session, self.host, at, False, found.copied_at)
            return self._fleet.placed[session]

    def copied(self, session: str, at: float) -> None:
        with self._fleet.changed:
            found = self._fleet.placed.get(session)
            if found is not None and found.host == self.host:
                self._fleet.placed[session] = replace(found, copied_at=at)

    def uncopied(self) -> list[str]:
        mine = [one for one in self.everything() if one.host == self.host and one.is_in_place]
        return [one.session.id for one in mine if (one.copied_at or 0.0) < one.session.changed_at]

    def close(self) -> None:
        pass


class FakeFeed:
    """See `rekindle.ports.placements.CommitFeed`."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._seen = -1

    def wait(self, seconds: float) -> bool:
        with self._fleet.changed:
            self._fleet.changed.wait_for(lambda: self._fleet.number != self._seen, seconds)
            is_news, self._seen = self._fleet.number != self._seen, self._fleet.number
            return is_news

    def close(self) -> None:
        pass
