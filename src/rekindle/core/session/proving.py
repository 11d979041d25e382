"""Whether what a resume has proved may still change: an agent writes its own record a moment after it speaks. Pure.

A turn that has ended, and whose record was not compared yet, is being checked. That takes `PROOF_SECONDS` at most (the
timer `proof`); then what is known stands, although a record that comes later still corrects it.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.session.state import Attempt, Session, State

#: How long to wait for the record of a turn that has ended.
PROOF_SECONDS: Final = 6.0


def has_worked(session: Session, attempt: int) -> bool:
    """Whether an attempt has begun a turn."""
    return any(one.attempt == attempt and one.state not in ("queued", "sent") for one in session.prompts)


def may_change(session: Session) -> bool:
    """Whether a better receipt will come soon: the agent works, is about to, or has just had its turn."""
    attempt = session.attempt
    if attempt is None or not _awaits_record(attempt):
        return False
    return session.turn is not None or bool(session.queued) or has_worked(session, attempt.number)


def is_being_checked(session: Session) -> bool:
    """Whether a turn has ended, nothing else is left to do, and nobody has checked yet what its record proves."""
    if session.state is not State.WAITING_FOR_INPUT or session.turn is not None or session.queued:
        return False
    return may_change(session)


def _awaits_record(attempt: Attempt) -> bool:
    """Whether a resumed, living agent can prove only by its record how it continued."""
    if attempt.status != "ready" or attempt.how != "load" or attempt.proof != "transcript":
        return False
    unproven = attempt.receipt is not None and attempt.receipt.kind == "unproven"
    return unproven and not attempt.compared and not attempt.overdue
