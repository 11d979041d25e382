"""Room that is given back. Nothing that holds a token, or the only copy of a conversation, is ever deleted."""

from __future__ import annotations

import contextlib
import time

import msgspec

from rekindle.ports.errors import OwnedError
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.retention import KeptItem, RemovableItem, Retention, RoomSurvey


class FreeRequest(msgspec.Struct, frozen=True):
    """`quota`: only until all sessions take no more. `older_than` days: also what is old. `dry_run`: only say it."""

    dry_run: bool = False
    quota: int | None = None
    older_than: float | None = None


class Freed(msgspec.Struct, frozen=True):
    """What went (or would go), what stays and why, and how much room that is."""

    removed: tuple[RemovableItem, ...]
    kept: tuple[KeptItem, ...]
    freed: int
    left: int
    over_quota: bool


class Freeing:
    """Gives room back."""

    def __init__(self, kept: KeptSessions, retention: Retention) -> None:
        self._kept = kept
        self._retention = retention

    def free(self, asked: FreeRequest) -> Freed:
        """Remove what may go, as much as is asked for."""
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
    """What has to go: all that may or, with a quota, no more than that the rest fits into it."""
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
