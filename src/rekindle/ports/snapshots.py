"""Keeps the states of work trees. A call may block for long and belongs in a thread, unless it says `Quick`."""

from __future__ import annotations

from typing import Protocol

import msgspec

from rekindle.core.session.state import Session


class Snapshot(msgspec.Struct, frozen=True):
    """One state of a work tree. `id` is a commit; `left_out` names files that it lacks."""

    id: str
    number: int
    session: str
    at: int
    reason: str
    tree: str
    head: str | None = None
    branch: str | None = None
    left_out: tuple[str, ...] = ()
    #: the snapshot that was restored after this one was taken
    restores: str | None = None
    pinned: bool = False


class Restored(msgspec.Struct, frozen=True):
    """What was restored, where, the snapshot of what was there before, and what a person should know."""

    snapshot: Snapshot
    to: str
    before: str | None = None
    notice: str | None = None


class Snapshots(Protocol):
    """Belongs to one store. Thread-safe. Raises RekindleError."""

    def take(self, session: Session, reason: str, now: float) -> Snapshot | None:
        """Keep the session's work tree as it is. None if the last snapshot already has it, or nothing can be kept."""
        ...

    def thin(self, session: Session, now: float) -> object:
        """Remove snapshots that have grown old."""
        ...

    def owe(self, session: str, reason: str) -> None:
        """Remember across a crash that a snapshot is due. Quick."""
        ...

    def owed(self) -> dict[str, str]:
        """Sessions whose snapshots are due from an earlier life, with the reasons. Quick."""
        ...

    def paid(self, session: str) -> None:
        """Forget that a snapshot is due. Quick."""
        ...

    def end(self) -> None:
        """End whatever is running; it fails, and so does everything that comes after. Quick."""
        ...


class KeptTrees(Protocol):
    """Snapshots by folder: any folder in the session's repository. Raises RekindleError."""

    def listing(self, cwd: str, session: str) -> list[Snapshot]:
        """All snapshots of a session, oldest first."""
        ...

    def take(self, cwd: str, session: str, reason: str, now: float) -> Snapshot | None:
        """Keep the work tree as it is now; None if the last snapshot has it."""
        ...

    def pin(self, cwd: str, session: str, at: str | None, *, pinned: bool = True) -> Snapshot:
        """Keep a snapshot forever, or let it age like the others."""
        ...

    def restore(self, cwd: str, session: str, at: str | None, to: str | None, now: float) -> Restored:
        """Restore a snapshot into the new folder `to`, or over the work tree. What no snapshot has is never lost."""
        ...

    def difference(self, cwd: str, session: str, a: str | None, b: str | None) -> bytes:
        """What changed from one snapshot to another; without `b`, to the work tree as it is now."""
        ...
