"""The record of a job, as programs and people read it: the fields of the job document, from the job and its sessions.

The resume token, when it was stored and how often it was used are the session's own facts: they are read here, and
stored nowhere twice. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

from rekindle.core.governor.admission import Admission
from rekindle.core.job.outcome import is_held, outcome
from rekindle.core.job.react import is_pending
from rekindle.core.job.retrying import resumes_of
from rekindle.core.job.state import Job, JobStep
from rekindle.core.session.activity import waits_until
from rekindle.core.session.facts import Receipt
from rekindle.core.session.state import Session
from rekindle.core.session.strategy import token_stored_at

JobStatus = Literal["queued", "running", "waiting", "done", "failed", "cancelled"]


class StepRecord(msgspec.Struct, frozen=True):
    """One task of a job. `status` is pending, or not_run if the job ended before it; else as for jobs."""

    name: str
    agent: str
    prompt: str
    status: str
    needs: tuple[str, ...]
    session: str | None
    why: str
    claude_session_id: str | None
    resume_count: int
    cost: float | None
    receipt: Receipt | None


class JobRecord(msgspec.Struct, frozen=True):
    """A job. Times are seconds since 1970, except for `claude_session_saved_at`, which is in milliseconds.

    `next_at`: when it starts, is tried again, or goes on by itself. `why` says what happened last; `next` is what to
    type, empty if there is nothing to do. `host` has a job of a fleet now, or had it last.
    """

    id: str
    status: JobStatus
    title: str
    prompt: str
    agent: str
    model: str | None
    permission: str
    cwd: str
    timeout: float | None
    policy: str
    resume: bool
    retries: int
    retries_left: int
    priority: int
    max_cost: float | None
    max_age: float | None
    max_resumes: int | None
    session: str | None
    claude_session_id: str | None
    claude_session_saved_at: int | None
    resume_count: int
    next_at: float | None
    every: str
    zone: str
    of: str
    due: float | None
    runs: tuple[str, ...]
    submitted_at: float
    over_at: float | None
    cost: float | None
    why: str
    needs_you: bool
    next: str
    retry: str
    receipt: Receipt | None
    steps: list[StepRecord]
    later_steps: list[str]
    host: str = ""


def shown_step(job: Job) -> JobStep:
    """The step that the record is about: the current one or, when all are done, the last."""
    return job.current or job.steps[-1]


def record(job: Job, sessions: Mapping[str, Session], now: float) -> JobRecord:
    """The record of a job. `sessions` has those of its steps, by id."""
    step = shown_step(job)
    session = sessions.get(step.session) if step.session is not None else None
    status, why = _status(job, session, now)
    token = session.token if session is not None else None
    costs = [one for each in job.steps if (one := _cost(each, sessions)) is not None]
    pending = job.retry if session is not None and job.retry is not None and is_pending(job, session) else None
    needs_you = status == "failed" or (status == "waiting" and _next_at(job, session, now) is None)
    return JobRecord(
        id=job.id,
        status=status,
        title=job.order.title or _first_line(job),
        prompt=step.order.prompt,
        agent=step.order.agent,
        model=step.order.model,
        permission=step.order.permission,
        cwd=step.order.cwd,
        timeout=job.order.timeout,
        policy=job.order.policy,
        resume=job.order.resume,
        retries=job.order.retries,
        retries_left=job.retries_left,
        priority=job.order.priority,
        max_cost=job.order.max_cost,
        max_age=job.order.max_age,
        max_resumes=job.order.max_resumes,
        session=step.session if session is not None else None,
        claude_session_id=token,
        claude_session_saved_at=int(token_stored_at(session) * 1000) if session is not None and token else None,
        resume_count=resumes_of(session) if session is not None else 0,
        next_at=_next_at(job, session, now),
        every=job.order.every,
        zone=job.order.zone,
        of=job.of,
        due=job.due,
        runs=job.runs,
        submitted_at=job.submitted_at,
        over_at=job.over_at,
        cost=sum(costs) if costs else None,
        why=why,
        needs_you=needs_you,
        next=_next(job, session, status),
        retry=pending.how if pending is not None else "",
        receipt=_receipt(session),
        steps=[_step(job, one, sessions, now) for one in job.steps],
        later_steps=[one.order.name for one in job.steps if one.status in ("pending", "not_run")],
    )


def held_up(shown: JobRecord, found: Admission) -> JobRecord:
    """The record of a job whose session may not go on now, because of something that concerns all sessions."""
    if found.is_granted or shown.status != "running":
        return shown
    steps = [replace(one, status="waiting") if one.status == "running" else one for one in shown.steps]
    asked = bool(found.question)
    next_ = f"rekindle answer {found.question}" if asked else shown.next
    return replace(
        shown, status="waiting", why=found.why, next_at=found.until, needs_you=asked, next=next_, steps=steps
    )


def _status(job: Job, session: Session | None, now: float) -> tuple[JobStatus, str]:
    if job.over is not None:
        return job.over, job.why
    if job.cancel_asked:
        return "running", "it is being cancelled"
    if session is None:
        return "queued", f"{job.retry.why}; it is tried again" if job.retry is not None else ""
    if job.retry is not None and is_pending(job, session) and (job.retry.by or not is_held(session)):
        how = "in the same conversation" if job.retry.how == "resume" else "fresh, with the original prompt"
        return "queued", f"{job.retry.why}; it is tried again {how}"
    found = outcome(session)
    if found.kind in ("asking", "asleep"):
        return "waiting", found.why
    if waits_until(session, now) is not None:
        return "waiting", session.message
    return "running", ""


def _next_at(job: Job, session: Session | None, now: float) -> float | None:
    if job.over is not None:
        return None
    if job.is_schedule:
        return job.next_at
    if session is None:
        if job.retry is not None:
            return job.retry.until
        return job.order.not_before if not job.has_begun else None
    if job.retry is not None and is_pending(job, session):
        return job.retry.until if job.retry.by or not is_held(session) else None
    return waits_until(session, now)


def _next(job: Job, session: Session | None, status: str) -> str:
    """What a person types next."""
    if status in ("failed", "cancelled"):
        return "" if job.is_schedule else f"rekindle job retry {job.id}"
    if status != "waiting" or session is None:
        return ""
    if outcome(session).kind == "asking":
        asked = session.escalation.id if session.escalation is not None else session.id
        return f"rekindle answer {asked}"
    if session.on_hold:
        return f"rekindle resume {session.id}"
    if outcome(session).kind != "asleep":
        return ""
    return f'rekindle send {session.id} "how to go on"' if session.is_up else f"rekindle job retry {job.id}"


def _first_line(job: Job) -> str:
    if len(job.steps) > 1:
        return " -> ".join(one.order.name for one in job.steps)
    return next(iter(job.steps[0].order.prompt.strip().splitlines()), "")[:80]


def _cost(step: JobStep, sessions: Mapping[str, Session]) -> float | None:
    session = sessions.get(step.session) if step.session is not None else None
    return step.cost if session is None else session.usage.cost


def _receipt(session: Session | None) -> Receipt | None:
    """The newest receipt of a session."""
    found = [one.receipt for one in session.attempts if one.receipt is not None] if session is not None else []
    return found[-1] if found else None


def _step(job: Job, step: JobStep, sessions: Mapping[str, Session], now: float) -> StepRecord:
    session = sessions.get(step.session) if step.session is not None else None
    status: str = _status(job, session, now)[0] if step.status == "begun" else step.status
    return StepRecord(
        name=step.order.name,
        agent=step.order.agent,
        prompt=step.order.prompt,
        status=status,
        needs=step.order.needs,
        session=step.session if session is not None else None,
        why=step.why,
        claude_session_id=session.token if session is not None else None,
        resume_count=resumes_of(session) if session is not None else 0,
        cost=_cost(step, sessions),
        receipt=_receipt(session),
    )
