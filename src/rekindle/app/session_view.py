"""A session as the daemon shows it in every answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rekindle.core.session import asking
from rekindle.core.session.listing import listing
from rekindle.core.session.standing import is_back
from rekindle.core.session.state import Session
from rekindle.ports.errors import UsageError


class NoSuchSession(UsageError):
    """There is no session of that id."""

    code = "no_such_session"


def find(sessions: Iterable[Session], prefix: str) -> Session:
    """The session that an id, or the beginning of one, means."""
    known = [session for session in sessions if session.id.startswith(prefix)] if prefix else []
    exact = [session for session in known if session.id == prefix]
    if exact or len(known) == 1:
        return (exact or known)[0]
    if not known:
        raise NoSuchSession(f"there is no session {prefix!r}", "`rekindle ps --all` lists them")
    names = ", ".join(session.id for session in known[:5])
    raise NoSuchSession(f"{prefix!r} can mean {len(known)} sessions: {names}", "give more of the id")


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
