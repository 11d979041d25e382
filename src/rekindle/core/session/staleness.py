"""Which facts come too late or were told before: a spool can be folded again from its start without harm. Pure."""

from __future__ import annotations

from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import Session


def is_stale(session: Session, fact: AnyFact) -> bool:
    """Whether a fact changes nothing any more."""
    match fact:
        case f.LaunchIntended():
            newest = session.attempt
            return newest is not None and (fact.attempt <= newest.number or newest.status != "gone")
        case f.Launched():
            return _status(session, fact.attempt) != "launching"
        case f.LaunchFailed():
            return _status(session, fact.attempt) != "launching"
        case f.Opened(how="load") | f.OpenRefused(how="load"):  # what was given up stays given up
            return _status(session, fact.attempt) != "up" or session.attempts[-1].token in session.lost
        case f.Opened() | f.OpenRefused():
            return _status(session, fact.attempt) != "up"
        case f.Named() | f.Compared() | f.Compacted():
            return _status(session, fact.attempt) not in ("up", "ready")
        case f.GivenUp():
            return _status(session, fact.attempt) in (None, "gone")
        case f.PromptSent():
            return _status(session, fact.attempt) != "ready" or progress(session, fact.prompt) != "queued"
        case f.TurnBegan():
            return _status(session, fact.attempt) != "ready" or progress(session, fact.prompt) != "sent"
        case f.Spent() | f.TurnFinished() | f.TurnFailed():
            running = progress(session, fact.prompt) in ("sent", "began")
            return _status(session, fact.attempt) != "ready" or not running
        case f.PermissionAsked():
            over = bool(fact.prompt) and progress(session, fact.prompt) not in ("sent", "began")
            return over or _status(session, fact.attempt) in (None, "gone")
        case f.Exited():
            return _status(session, fact.attempt) in (None, "gone")
        case _:
            return False


def _status(session: Session, attempt: int) -> str | None:
    """The status of an attempt, if it is the newest one."""
    newest = session.attempt
    return newest.status if newest is not None and newest.number == attempt else None


def progress(session: Session, prompt: str) -> str | None:
    """How far a prompt is; None: there is no such prompt."""
    return next((one.state for one in session.prompts if one.id == prompt), None)
