"""The order of a retry: resume if the conversation is known, young enough and was not resumed too often; otherwise
fresh with the original prompt, once; otherwise not at all. Pure.

"Once" and the number of retries count since the last progress, so that nothing loops.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from rekindle.core.job.facts import How
from rekindle.core.job.outcome import StepOutcome
from rekindle.core.job.state import Job
from rekindle.core.session.choosing import newest_turn
from rekindle.core.session.prompt_ids import derived
from rekindle.core.session.state import OURS, Session
from rekindle.core.session.strategy import token_stored_at

#: How many seconds to wait before each retry by itself. The last applies to all later ones.
PAUSES: Final = (0.0, 5.0, 30.0, 120.0, 600.0)


class Try(NamedTuple):
    """Another try, and why it is not the better one. `how` None: there is none."""

    how: How | None
    why: str


def resumes_of(session: Session) -> int:
    """How often the newest conversation of a session was resumed."""
    return sum(one.how == "load" and one.opened and one.token == session.token for one in session.attempts)


def nothing_was_sent(session: Session) -> bool:
    """Whether no agent has got a prompt yet, so that there is nothing to resume and nothing to lose."""
    return not any(one.attempt for one in session.prompts)


def is_on_its_way(session: Session, how: How, number: int) -> bool:
    """Whether the session is brought back already, and in this way.

    An agent that waits for its place can still be started fresh instead of being resumed.
    """
    if session.resume_asked is None:
        return False
    first = next((one for one in session.prompts if one.by != OURS), None)
    if how != "fresh" or first is None or nothing_was_sent(session):
        return True
    return any(one.id == derived(first.id, f"j{number}") for one in session.prompts)


def why_not_resumed(job: Job, session: Session, now: float) -> str:
    """Why a retry does not resume the conversation; empty: it does, or the next one is told a summary of it."""
    if session.token is None and session.dehydrated:
        return ""
    if session.token is None or session.held:
        return "the agent has lost the conversation" if session.lost else "there is no conversation to resume yet"
    if not session.is_loadable:
        return f"{session.agent} cannot load a conversation"
    newest = newest_turn(session)
    if newest is not None and newest.state == "failed" and newest.outcome.startswith("context_overflow"):
        return "the conversation has become too long for the model"
    age, resumed = now - token_stored_at(session), resumes_of(session)
    if job.order.max_age is not None and age > job.order.max_age:
        return f"the conversation was saved {age:.0f} s ago, and may be resumed for {job.order.max_age:g} s"
    if job.order.max_resumes is not None and resumed >= job.order.max_resumes:
        return f"the conversation was resumed {resumed} times, and may be resumed {job.order.max_resumes} times"
    return ""


def next_try(job: Job, session: Session, found: StepOutcome, now: float) -> Try:
    """What follows a try that did not end well, without a person."""
    if found.kind == "final":
        return Try(None, found.why)
    if job.order.policy != "continue":
        return Try(None, f"{found.why}; it is not tried again by itself")
    if not job.retries_left:
        times = "once" if job.order.retries == 1 else f"{job.order.retries} times"
        return Try(None, f"{found.why}; it was tried again {times}" if job.order.retries else found.why)
    if nothing_was_sent(session):
        return Try("resume", found.why)  # the prompt is still there
    barred = why_not_resumed(job, session, now) if job.order.resume else "each retry starts fresh"
    if not barred:
        return Try("resume", found.why)
    if job.order.resume and job.fresh_spent:
        return Try(None, f"{found.why}; {barred}, and it was started fresh once already")
    return Try("fresh", barred)


def pause(job: Job) -> float:
    """How long to wait before the next retry by itself."""
    return PAUSES[min(job.spent, len(PAUSES) - 1)]
