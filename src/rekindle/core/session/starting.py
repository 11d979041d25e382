"""What becomes of a session whose agent could not be started, or would not open the conversation. Pure.

A start that fails is not an end: the session is interrupted, and says why. It is tried again within its budget, after
pauses that grow.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rekindle.core.session.facts import OpenRefused
from rekindle.core.session.state import Session, State, nothing_ever_ran, with_attempt

#: How many automatic starts there are before a turn ends well, or a person asks.
FULL_BUDGET: Final = 3
#: Seconds before the next automatic start, by what is left of the budget: of an agent that died, and of one that could
#: not be started. What kept it from starting takes longer to go away.
_PAUSES: Final = {3: 0.0, 2: 2.0}
_LONGEST_PAUSE: Final = 8.0
_START_PAUSES: Final = {3: 2.0, 2: 15.0}
_LONGEST_START_PAUSE: Final = 60.0
#: A start that failed so many seconds ago and was not tried again since is worth telling somebody who waits.
_SOON: Final = 5.0
#: How often it is looked whether what was missing is there: seconds, growing with the time that it has been missing.
_FIRST_LOOK: Final = 2.0
_LATEST_LOOK: Final = 60.0


def has_failed_to_start(session: Session) -> bool:
    """Whether the newest attempt ended before it had opened a conversation, and nobody had asked it to end."""
    attempt = session.attempt
    return session.state is State.STARTING and attempt is not None and attempt.status == "gone" and not attempt.by_us


def has_stalled(session: Session, now: float) -> bool:
    """Whether a start has failed and nobody should wait for the next one: something is missing, or it is not soon."""
    attempt = session.attempt
    if attempt is None or not has_failed_to_start(session) or session.resume_asked is not None:
        return False
    return attempt.blocked or now - session.changed_at > _SOON


def next_look(session: Session, now: float) -> float:
    """How many seconds later to look again for what a start needs."""
    return min(max(_FIRST_LOOK, (now - session.changed_at) / 4), _LATEST_LOOK)


def pause(session: Session) -> float:
    """How many seconds after its end the newest attempt may be followed by an automatic one."""
    attempt = session.attempts[-1]
    if attempt.opened or not (attempt.blocked or attempt.given_up or not attempt.folder):
        return _PAUSES.get(session.budget, _LONGEST_PAUSE)
    return _START_PAUSES.get(session.budget, _LONGEST_START_PAUSE)


def after_refusal(session: Session, fact: OpenRefused) -> Session:
    """Only what the agent says or shows gives a conversation up. Unattended a new one begins; else somebody decides.

    A refusal for any other reason says nothing about the conversation: the attempt is ended, and that is all.
    """
    token = session.attempts[-1].token
    is_lost = fact.problem in ("unknown_session", "incomplete")
    if fact.problem == "incomplete":
        session = with_attempt(session, lambda a: replace(a, lacks=fact.message))
    if not is_lost and fact.problem != "unsupported":
        why = fact.message or "the agent refused"
        session = with_attempt(session, lambda a: replace(a, given_up=a.given_up or why))
    lost = [*session.lost, token] if is_lost and token is not None else session.lost
    held = (is_lost or fact.problem == "unsupported") and not nothing_ever_ran(session)
    if session.queued or (session.policy == "continue" and session.fresh_starts == 0):
        held = False  # somebody wants it to go on: a new conversation is told the history of this one
    message = fact.message
    if is_lost and held:
        message = f"{fact.message}; the next prompt begins a new conversation, which is told the history of this one"
    kept = replace(session, message=message, token=None if is_lost else session.token, held=held, lost=lost)
    return replace(kept, can_load=kept.can_load and fact.problem != "unsupported")
