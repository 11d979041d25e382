"""Whoever keeps the states of work trees. A call may block for long and belongs in a thread, unless it says `Quick`."""

from __future__ import annotations

from typing import Protocol

from rekindle.core.session.state import Session


class Snapshots(Protocol):
    """Belongs to one store. Safe between threads. Raises RekindleError."""

    def take(self, session: Session, reason: str, now: float) -> object:
        """Keep the session's work tree as it is. None if it is as the last snapshot has it, or nothing can be kept."""
        ...

    def thin(self, session: Session, now: float) -> object:
        """Let go of snapshots that have grown old."""
        ...

    def owe(self, session: str, reason: str) -> None:
        """Remember over a crash that a snapshot is due. Quick."""
        ...

    def owed(self) -> dict[str, str]:
        """Sessions whose snapshots are due since an earlier life, with the reasons. Quick."""
        ...

    def paid(self, session: str) -> None:
        """Forget what was owed. Quick."""
        ...

    def end(self) -> None:
        """End whatever is being done; it fails, and so does everything that comes after. Quick."""
        ...
