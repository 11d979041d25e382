"""Frees disk space. Never deletes anything that holds a token, or the only copy of a conversation."""

from __future__ import annotations

import contextlib
import time

import msgspec

from rekindle.ports.errors import OwnedError
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.retention import KeptItem, RemovableItem, Retention, RoomSurvey


class FreeRequest(msgspec.Struct, frozen=True):
    """`quota`: only until all sessions fit in it. `older_than` days: also what is older. `dry_run`: only report."""

    dry_run: bool = False
    quota: int | None = None
    older_than: float | None = None


class Freed(msgspec.Struct, frozen=True):
    """What was (or would be) removed, what stays and why, and how much space that is."""

    removed: tuple[RemovableItem, ...]
    kept: tuple[KeptItem, ...]
    freed: int
    left: int
    over_quota: bool


class Freeing:
    """Frees space."""

    def __init__(self, kept: KeptSessions, retention: Retention) -> None:
        self._kept = kept
        self._retention = retention

    def free(self, asked: FreeRequest) -> Freed:
        """Remove what may be removed, as much as was asked for."""
        sessions = self._kept.sessions()
        if not asked.dry_run:
            for session in sessions:
                with contextlib.suppress(OwnedError, OSError):
                    self._retention.complete(session)
        found = self._retention.survey(sessions, time.time(), asked.older_than)
        chosen = enough(found, asked.quota)
        gone, refused = (chosen, []) if asked.dry_run else self._retention.remove(chosen)
        freed = sum(item.size for item in gone)
        left = found.total - freed
        over_quota = asked.quota is not None and left > asked.quota
        return Freed(tuple(gone), (*found.kept, *refused), freed, left, over_quota)


def enough(found: RoomSurvey, quota: int | None) -> list[RemovableItem]:
    """What to remove: everything removable or, with a quota, just enough that the rest fits."""
    if quota is None:
        return list(found.items)
    chosen: list[RemovableItem] = []
    left = found.total
    for item in found.items:
        if left <= quota:
            break
        chosen.append(item)
        left -= item.size
    return chosen
