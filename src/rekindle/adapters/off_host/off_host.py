"""See `rekindle.ports.off_host.OffHostCopies`: both ways, for one host."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from rekindle.adapters.off_host.bringing import Bringer
from rekindle.adapters.off_host.reading import CopyReader
from rekindle.adapters.off_host.shipping import Shipper
from rekindle.core.session.state import Session
from rekindle.ports.blobs import Blobs
from rekindle.ports.off_host import Brought, Shipped


class OffHost:
    """`state` is the folder of this host's own state."""

    def __init__(self, blobs: Blobs, state: str, host: str, sources: Sequence[str]) -> None:
        self._shipper = Shipper(blobs, os.path.join(state, "sessions"), host)
        self._bringer = Bringer(blobs, state, sources)
        self._reader = CopyReader(blobs, os.path.join(state, "copies"))

    def ship(self, session: Session, now: float) -> Shipped:
        """Copy what is new of a session."""
        return self._shipper.ship(session, now)

    def bring(
        self, session: Session, attempt: int, environment: Mapping[str, str], now: float, base: str = ""
    ) -> Brought:
        """Claim a session, and put all that was copied in place on this host."""
        return self._bringer.bring(session, attempt, environment, now, base)

    def read(self, session: str, now: float) -> str:
        """Bring a readable copy of a session up to date."""
        return self._reader.read(session, now)
