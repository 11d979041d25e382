"""Snapshots by a folder that shares them. See `rekindle.ports.snapshots.KeptTrees`."""

from __future__ import annotations

from rekindle.adapters.snapshots import restoring, taking
from rekindle.ports.snapshots import Restored, Snapshot


class FolderSnapshots:
    """Those that the repository around a folder keeps."""

    def listing(self, cwd: str, session: str) -> list[Snapshot]:
        """All snapshots of a session, oldest first."""
        return taking.listing(cwd, session)

    def take(self, cwd: str, session: str, reason: str, now: float) -> Snapshot | None:
        """Keep the work tree as it is now."""
        return taking.take(cwd, session, reason, now)

    def pin(self, cwd: str, session: str, at: str | None, *, pinned: bool = True) -> Snapshot:
        """Keep a snapshot forever, or let it expire like the others."""
        return taking.pin(cwd, session, at, pinned=pinned)

    def restore(self, cwd: str, session: str, at: str | None, to: str | None, now: float) -> Restored:
        """Put a snapshot into a new folder, or over the work tree."""
        return restoring.restore(cwd, session, at, to, now)

    def difference(self, cwd: str, session: str, a: str | None, b: str | None) -> bytes:
        """What changed from one snapshot to another, or to the work tree as it is now."""
        return taking.difference(cwd, session, a, b)
