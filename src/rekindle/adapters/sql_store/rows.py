"""The rows that a session's structs become. Pure: what is written where, not how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict

from rekindle.adapters.sql_store.codec import encode, shown
from rekindle.core.fact import Fact
from rekindle.core.session.activity import needs_daemon
from rekindle.core.session.facts import Exited, Launched, LaunchFailed
from rekindle.core.session.listing import listing, whereabouts
from rekindle.core.session.state import Attempt, Prompt, Session

Row = dict[str, Any]


def session_row(session: Session, generation: int) -> Row:
    return {
        "id": session.id,
        "agent": shown(session.agent),
        "cwd": shown(session.cwd),
        "title": shown(session.title),
        "state": session.state.value,
        "policy": shown(session.policy),
        "feature": _maybe(session.feature),
        "task": _maybe(session.task),
        "token": _maybe(session.token),
        "token_usable": session.is_loadable,
        "generation": generation,
        "created_at": session.created_at,
        "changed_at": session.changed_at,
        "attended": needs_daemon(session),
        "if_alive": _listed(session, alive=True),
        "if_dead": _listed(session, alive=False),
        "body": encode(session),
    }


def _listed(session: Session, *, alive: bool) -> str:
    """How a list shows it while no daemon is there to be asked. What is the same either way is kept once."""
    found = asdict(listing(session, session.changed_at, alive=alive, served=False))
    return encode(found if alive else {**found, **asdict(whereabouts(session))})


def attempt_row(session: Session, attempt: Attempt, facts: Sequence[Fact]) -> Row:
    """Times are only in the row if the facts tell them: what an earlier commit wrote stays."""
    row: Row = {
        "session": session.id,
        "number": attempt.number,
        "agent_execution_id": f"{session.id}-{attempt.number}",
        "status": attempt.status,
        "how": attempt.how,
        "resume_token": _maybe(attempt.token),
        "folder": shown(attempt.folder),
        "pid": attempt.pid,
        "how_ended": shown(attempt.how_ended),
    }
    for fact in facts:
        if isinstance(fact, Launched) and fact.attempt == attempt.number:
            row["started_at"] = fact.at
        elif isinstance(fact, Exited | LaunchFailed) and fact.attempt == attempt.number:
            row["ended_at"] = fact.at
    return row


def prompt_row(session: Session, position: int, prompt: Prompt) -> Row:
    return {
        "session": session.id,
        "position": position,
        "id": shown(prompt.id),
        "text": shown(prompt.text),
        "state": prompt.state,
        "attempt": prompt.attempt,
        "at": prompt.at,
    }


def receipt_row(session: Session, attempt: Attempt) -> Row:
    """The receipt of an attempt as the store keeps it."""
    assert attempt.receipt is not None
    return {
        "session": session.id,
        "attempt": attempt.number,
        "kind": attempt.receipt.kind,
        "reason": shown(attempt.receipt.reason),
        "unknown": shown(encode(attempt.receipt.unknown)),
        "repeated": shown(encode(attempt.receipt.repeated)),
    }


def changed(before: Sequence[Any], now: Sequence[Any]) -> list[int]:
    """The positions at which the two differ, those that only one of them has included."""
    return [
        position
        for position in range(max(len(before), len(now)))
        if position >= len(before) or position >= len(now) or before[position] != now[position]
    ]


def _maybe(text: str | None) -> str | None:
    return None if text is None else shown(text)
