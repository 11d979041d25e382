"""What a session is about to do, for somebody who waits for it or wants it back. Pure."""

from __future__ import annotations

from rekindle.core.effects import Wait
from rekindle.core.session.plan import is_cut, plan, wants_agent
from rekindle.core.session.proving import is_being_checked
from rekindle.core.session.starting import has_failed_to_start, has_stalled
from rekindle.core.session.state import OURS, TERMINAL, Session, State


def rests(session: Session) -> bool:
    """Whether nothing will happen until somebody does something."""
    if any(not asked.answered for asked in session.permissions):
        return True
    if session.gate is not None:
        return False
    if not session.is_up:
        return not wants_agent(session)
    at_rest = session.state is State.WAITING_FOR_INPUT and not session.sendable and session.turn is None
    return at_rest and not is_being_checked(session)


def needs_daemon(session: Session) -> bool:
    """Whether a daemon has to attend to it: its agent is alive, as far as is known, or something is due by itself."""
    return session.is_up or not rests(session)


def waits_until(session: Session, now: float) -> float | None:
    """When a session that waits for a certain time continues by itself; None: it does not wait for one.

    Something that is missing does not come by waiting, although it is looked for again.
    """
    attempt = session.attempt
    if attempt is not None and attempt.blocked and has_failed_to_start(session):
        return None
    return next((effect.until for effect in plan(session, now) if isinstance(effect, Wait)), None)


def is_waiting(session: Session) -> bool:
    """Whether it would go on by itself at some time, or on hold would not."""
    if session.is_up and session.turn is not None and session.turn.state != "cut":
        return False
    return any(one.by == OURS for one in session.queued) or (not session.is_up and is_cut(session))


def works(session: Session) -> bool:
    """Whether the agent is in a turn: what is queued waits for its end."""
    return session.is_up and session.state is State.RUNNING and session.turn is not None


def is_sent(session: Session, prompt: str) -> bool:
    """Whether the agent has, or had, a prompt."""
    return any(one.id == prompt and one.state not in ("queued", "cancelled") for one in session.prompts)


def has_come_up(session: Session, now: float) -> bool:
    """Whether a requested start has had a result: it is not about to be tried again."""
    attempt = session.attempt
    if attempt is None or session.resume_asked is not None:
        return False
    if attempt.status == "gone":
        return rests(session) or has_stalled(session, now)
    return attempt.status == "ready"


def is_back(session: Session) -> bool:
    """Whether the requested agent is there, is certain to be there in a moment, or was there and had its turn."""
    attempt = session.attempt
    if session.is_up or session.load_at is not None:
        return True
    return attempt is not None and attempt.opened and attempt.by_us and session.state not in TERMINAL


def has_come_by_itself(session: Session) -> bool:
    """Whether the current agent was brought back without anybody asking."""
    attempt = session.attempt
    return session.is_up and attempt is not None and attempt.number > 1 and not attempt.asked_by


def why_skipped(session: Session, *, alive: bool, kill: bool, of_a_run: bool) -> str | None:
    """Why bringing back all dead agents skips this one; None: it does not."""
    if of_a_run:
        return f"it belongs to the run of {session.feature}, which brings it back"
    if session.is_up and alive and not kill:
        return "its agent is alive"
    if session.state in TERMINAL:
        why = f": {session.message}" if session.state is State.FAILED and session.message else ""
        return f"it is {session.state.lower()}{why}"
    if session.is_foreign:
        return f"it came in an archive: look at it (rekindle show {session.id}), then resume it by its id"
    attempt = session.attempt
    if session.held and not session.is_up:
        return (
            f"its agent refused to open the conversation; rekindle resume {session.id}, or a prompt, starts a new one"
        )
    if attempt is not None and attempt.by_us and not session.queued and not session.is_up:
        return "it is asleep; a prompt wakes it"
    return None


def who_has_it(session: Session) -> str:
    """The attempt that a second one would conflict with, in words."""
    attempt = session.attempt
    if attempt is None or not session.is_up:
        return f"attempt {attempt.number + 1 if attempt is not None else 1} of it is being started"
    state = "ready" if attempt.status == "ready" else "being started"
    return f"attempt {attempt.number} of it is {state} (pid {attempt.pid or '?'})"
