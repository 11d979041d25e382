"""A session as the daemon shows it in every answer."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.core.session import asking
from rekindle.core.session.standing import waits_until
from rekindle.core.session.state import Session
from rekindle.core.session.status import status, word


def shown(session: Session, now: float, *, alive: bool, seen_seconds_ago: float | None) -> dict[str, Any]:
    """`alive`: its agent is followed. If it is not, somebody may have seen its process a moment ago."""
    found = status(session, alive=alive, seen_seconds_ago=seen_seconds_ago)
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
        # An agent that lives is not interrupted, also while we cannot follow it: on a full disk, for example.
        "status": word(session, alive=alive or seen_seconds_ago is not None),
        "is_running": found.is_running,
        "needs_resume": found.needs_resume,
        "is_resumable": found.is_resumable,
        "reason": found.reason,
        "attempt": attempt.number if attempt is not None else 0,
        "pid": attempt.pid if attempt is not None and attempt.status != "gone" else None,
        "queued": len(session.queued),
        "message": session.message,
        "waits_until": waits_until(session, now),
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
