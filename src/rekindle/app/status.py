"""What is interrupted here, and which of the user's sessions need attention.

Runs as often as `git status`. Light standard library only: no typing, no msgspec.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rekindle.app.session_list import SessionList
    from rekindle.ports.glance import Glance, Summary
    from rekindle.ports.kept_sessions import KeptSessions


class StatusReport:
    """The status of a repository and of the user's sessions. `unasked` is about a daemon that does not answer."""

    __slots__ = (
        "branch",
        "feature",
        "features",
        "governor",
        "in_repository",
        "progress",
        "root",
        "sessions",
        "unasked",
    )

    def __init__(self, sessions: list[dict[str, Any]], unasked: str) -> None:
        self.sessions = sessions
        self.unasked = unasked
        self.governor: dict[str, Any] | None = None
        self.in_repository = False
        self.root = ""
        self.branch: str | None = None
        self.feature: str | None = None
        self.progress = ""
        self.features: dict[str, Summary] = {}

    def apart(self) -> list[dict[str, Any]]:
        """The sessions that do not come back with an interrupted feature of this repository."""
        return [one for one in self.sessions if not self._comes_with_its_feature(one)]

    def _comes_with_its_feature(self, session: dict[str, Any]) -> bool:
        known = self.features.get(session["feature"] or "")
        return bool(known and known.get("interrupted_sids")) and session["cwd"].startswith(self.root + os.sep)


class StatusHere:
    """Tells the status around the current folder."""

    def __init__(
        self, look: Callable[[], Glance | None], kept: KeptSessions, sessions: Callable[[], SessionList]
    ) -> None:
        self._look = look
        self._kept = kept
        self._sessions = sessions

    def status(self) -> StatusReport:
        """The features of the repository here, if there is one, and the user's sessions."""
        here = self._look()
        is_any = self._kept.is_there() or bool(self._kept.folders())
        sessions = self._sessions() if is_any else None
        found = StatusReport(*(sessions.listed() if sessions is not None else ([], "")))
        found.governor = sessions.governor if sessions is not None else None
        if here is not None:
            found.in_repository = True
            found.root = here.repository.root
            found.branch = here.repository.branch
            found.feature = here.repository.feature
            found.progress = here.progress
            found.features = _features(here)
        return found

    def features(self) -> dict[str, Summary]:
        """The features of the repository here; none outside a repository."""
        here = self._look()
        return _features(here) if here is not None else {}

    def those_here(self, sessions: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The sessions of the repository here or, outside a repository, those in or below the current folder."""
        here = self._look()
        root = here.repository.root if here is not None else os.getcwd()
        below = root.rstrip(os.sep) + os.sep
        return [one for one in sessions if one["repository"] == root or f"{one['cwd'] or ''}{os.sep}".startswith(below)]


def _features(here: Glance) -> dict[str, Summary]:
    """Every feature with its summary and who holds it."""
    features = {}
    for name, found in here.summaries().items():
        holder = here.owner(name) if found.get("interrupted_sids") else None
        if holder is not None and holder.sid in found["interrupted_sids"]:
            found = here.analysed(name, holder.sid)
            found["owner"] = {"sid": holder.sid, "pid": holder.pid, "state": holder.verdict}
        if found.get("interrupted_sids"):
            found["is_foreign"] = here.is_foreign(name)
        features[name] = found
    return features
