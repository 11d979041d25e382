"""Why a snapshot is taken when some part of a session has ended, and what that shows later on.

A snapshot from the end of a turn shows that the work tree was still there at that time. Pure.
"""

from __future__ import annotations

from collections.abc import Collection

from rekindle.core.session.state import Session


def ends(session: Session) -> tuple[int, int]:
    """How many turns and how many attempts of a session are over."""
    turns = sum(prompt.state in ("done", "failed") for prompt in session.prompts)
    return turns, sum(attempt.status == "gone" for attempt in session.attempts)


def turn_ended(number: int) -> str:
    """The reason for a snapshot after this many turns."""
    return f"turn {number} has ended"


def attempt_ended(number: int) -> str:
    """The reason for a snapshot after this many attempts."""
    return f"attempt {number} has ended"


def show_last_end(session: Session, reasons: Collection[str]) -> bool:
    """Whether one of a session's snapshots was taken after its last turn had ended.

    The end of an attempt proves that only if there was no later attempt, in which the turn may have continued.
    """
    turns, attempts = ends(session)
    return turn_ended(turns) in reasons or (not session.is_up and attempt_ended(attempts) in reasons)
