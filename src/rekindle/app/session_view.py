"""A session as the daemon shows it in every answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rekindle.app.session_names import meant
from rekindle.core.session import asking
from rekindle.core.session.listing import listing
from rekindle.core.session.standing import is_back
from rekindle.core.session.state import Session


def find(sessions: Iterable[Session], prefix: str) -> Session:
    """The session that an id, or the beginning of one, means."""
    known = {session.id: session for session in sessions}
    return known[meant(known, prefix)]


def shown(
    session: Session, now: float, *, alive: bool, seen_seconds_ago: float | None, served: bool = True
) -> dict[str, Any]:
    """`alive`: its agent is followed. If it is not, somebody may have seen its process a moment ago."""
    listed = listing(session, now, alive=alive, seen_seconds_ago=seen_seconds_ago, served=served)
    attempt = session.attempt
    receipt = attempt.receipt if attempt is not None else None  # an earlier attempt's says nothing about this one
    return {
        "id": session.id,
        "agent": session.agent,
        "terminal": session.terminal,
        "title": session.title,
        "cwd": session.cwd,
        "repository": session.repository,
        "worktree": session.worktree,
        "branch": session.branch,
        "feature": session.feature,
        "state": session.state.value,
        "task_state": session.task_state.value,
        **msgspec.to_builtins(listed),
        "is_back": is_back(session),
        "attempt": attempt.number if attempt is not None else 0,
        "pid": attempt.pid if attempt is not None and attempt.status != "gone" else None,
        "queued": len(session.queued),
        "message": session.message,
        "notices": session.notices,
        "imported": session.imported,
        "asks": next((asking.shown(session, one) for one in asking.open_questions(session)), None),
        "receipt": msgspec.to_builtins(receipt),
        "model": session.model,
        "usage": {**msgspec.to_builtins(session.usage), "tokens": session.usage.tokens},
        "limits": msgspec.to_builtins(session.limits),
        "created_at": session.created_at,
        "changed_at": session.changed_at,
        "generation": session.generation,
    }
