"""Which facts come too late or are repeated: a spool can be folded again from its start without harm. Pure."""

from __future__ import annotations

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session
from rekindle.core.session.tables import ATTEMPTS, IGNORED_ATTEMPTS, IGNORED_PROMPTS, PromptState, Status

_OF_AN_ATTEMPT = frozenset(fact for _, fact in ATTEMPTS)
#: Facts that name a prompt and count only while it is in a certain state. A prompt that is queued or cancelled twice is
#: booked once (`booking.turns`).
_OF_A_PROMPT = (f.PromptSent, f.TurnBegan, f.Spent, f.TurnFinished, f.TurnFailed, f.TurnSettled)


def is_stale(session: Session, fact: AnyFact) -> bool:
    """Whether a fact no longer changes anything."""
    if type(fact) in _OF_AN_ATTEMPT and (_status(session, fact), type(fact)) in IGNORED_ATTEMPTS:
        return True
    if isinstance(fact, _OF_A_PROMPT) and (progress(session, fact.prompt), type(fact)) in IGNORED_PROMPTS:
        return True
    match fact:
        case f.Opened(how="load") | f.OpenRefused(how="load"):  # what was abandoned stays abandoned
            return session.attempts[-1].token in session.lost
        case f.PermissionAsked():
            return bool(fact.prompt) and progress(session, fact.prompt) not in ("sent", "began")
        case f.Due():
            return session.timers.get(fact.timer) != fact.until
        case _:
            return False


def _status(session: Session, fact: AnyFact) -> Status:
    """The status of the attempt that a fact names, if it is the newest. For a new attempt: of the one before."""
    newest, number = session.attempt, getattr(fact, "attempt", 0)
    if isinstance(fact, f.LaunchIntended):
        return "none" if newest is None else newest.status if number > newest.number else "launching"
    return newest.status if newest is not None and newest.number == number else "none"


def progress(session: Session, prompt: str) -> PromptState:
    """How far a prompt is; `none`: there is no such prompt."""
    return next((one.state for one in session.prompts if one.id == prompt), "none")
