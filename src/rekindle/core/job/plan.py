"""What has to be done about a job now: a pure function of the job, its session and the time, level-triggered.

Every effect can be carried out twice: a session has a derived id, and what is recorded about it depends on its state.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rekindle.core.job.facts import NOT_BEGUN, How
from rekindle.core.job.outcome import is_held, outcome
from rekindle.core.job.react import is_pending
from rekindle.core.job.retrying import is_on_its_way
from rekindle.core.job.state import Job
from rekindle.core.session.state import TERMINAL, Session


class BeginSession(msgspec.Struct, frozen=True):
    """Begin the session of a step with its prompt. *Idempotent*: its id and its prompt's are derived."""

    job: str
    step: str
    session: str


class TryAgain(msgspec.Struct, frozen=True):
    """Bring the agent of a session back. *Idempotent*: only while `attempt` is its newest one (`orders.again`)."""

    session: str
    how: How
    attempt: int
    number: int
    why: str
    by: str


class EndSession(msgspec.Struct, frozen=True):
    """End a session. *Idempotent*: one that has ended, or that works again, is left alone."""

    session: str
    to: Literal["completed", "failed", "cancelled", "asleep"]
    by: str
    why: str = ""


JobEffect = BeginSession | TryAgain | EndSession


def plan(job: Job, session: Session | None, now: float) -> list[JobEffect]:
    """The effects to carry out now: at most one. `session` is that of the current step."""
    step = job.current
    if job.over is not None or job.is_schedule or step is None or step.session is None:
        return []
    if session is None:
        is_wanted = step.status == "begun" and not job.cancel_asked and not _waits_to_begin(job, now)
        return [BeginSession(job.id, step.order.name, step.session)] if is_wanted else []
    if job.cancel_asked:
        ends = session.state in TERMINAL or session.stop_asked == "cancelled"
        return [] if ends else [EndSession(session.id, "cancelled", job.cancel_asked)]
    if step.status == "failed":
        ends = session.state in TERMINAL or session.stop_asked == "failed"
        return [] if ends else [EndSession(session.id, "failed", "", step.why)]
    if not session.prompts and session.state not in TERMINAL:  # its beginning was cut off, and it lacks its prompt
        return [] if _waits_to_begin(job, now) else [BeginSession(job.id, step.order.name, step.session)]
    retry = job.retry
    if retry is not None and is_pending(job, session):
        is_coming = is_on_its_way(session, retry.how, retry.number)
        stays = retry.until > now or is_coming or (is_held(session) and not retry.by)
        return [] if stays else [TryAgain(session.id, retry.how, retry.attempt, retry.number, retry.why, retry.by)]
    found = outcome(session)
    if found.kind == "at_rest":
        return [EndSession(session.id, "completed", "")]
    if found.kind == "ended" and session.is_up:
        return [EndSession(session.id, "asleep", "", found.why)]
    return []


def _waits_to_begin(job: Job, now: float) -> bool:
    """Whether its session could not be begun, and the time to try again has not come."""
    return job.retry is not None and job.retry.attempt == NOT_BEGUN and job.retry.until > now


def wakes_at(job: Job, session: Session | None, now: float) -> float | None:
    """When the job has to be looked at again although nothing happens; None: never."""
    if job.over is not None:
        return None
    if job.is_schedule:
        return job.next_at
    if not job.has_begun and (job.order.not_before or 0.0) > now:
        return job.order.not_before
    if _waits_to_begin(job, now) or (session is not None and is_pending(job, session) and not is_held(session)):
        return job.retry.until if job.retry is not None else None
    return None
