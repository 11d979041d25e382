"""The snapshots of a store's sessions: in their repositories, and what is still owed, in the sessions' folders."""

from __future__ import annotations

import contextlib
import os

from rekindle import files
from rekindle.adapters.git.git import Children
from rekindle.adapters.session_folder.layout import session_folder
from rekindle.adapters.snapshots import taking
from rekindle.adapters.snapshots.thinning import thin
from rekindle.core.session.state import Session
from rekindle.ports.snapshots import Snapshot


class TreeSnapshots:
    """See `rekindle.ports.snapshots.Snapshots`."""

    def __init__(self, sessions: str) -> None:
        self._sessions = sessions
        self._children = Children()

    def take(self, session: Session, reason: str, now: float) -> Snapshot | None:
        """Keep the work tree. One that is gone is not taken for the one that it was in."""
        return taking.take(session.cwd, session.id, reason, now, within=session.worktree, children=self._children)

    def thin(self, session: Session, now: float) -> object:
        """Thin those of one session; any worktree of its repository will do."""
        where = session.cwd if os.path.isdir(session.cwd) else session.repository or session.cwd
        return thin(where, session.id, now, children=self._children)

    def owe(self, session: str, reason: str) -> None:
        """Leave a mark in the session's folder."""
        with contextlib.suppress(OSError):  # then a crash right now would cost this snapshot
            files.replace(self._mark(session), reason.encode(), mode=0o600)

    def owed(self) -> dict[str, str]:
        """Look for marks."""
        found = {}
        for session in os.listdir(self._sessions):
            with contextlib.suppress(OSError):
                found[session] = files.read(self._mark(session)).decode("utf-8", "replace")
        return found

    def paid(self, session: str) -> None:
        """Take the mark away."""
        with contextlib.suppress(OSError):
            os.unlink(self._mark(session))

    def end(self) -> None:
        """End git."""
        self._children.end()

    def _mark(self, session: str) -> str:
        return session_folder(self._sessions, session).owed_snapshot
