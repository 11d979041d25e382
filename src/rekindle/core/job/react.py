"""What is decided about a job now: further facts. Level-triggered: it depends on the job, its session and the time.

A decision changes the job so that it is not made again. The caller records it, and asks again until nothing is left.
What has to be *done* is up to `plan`. Pure.
"""

from __future__ import annotations

from rekindle.core.job import facts as f
from rekindle.core.job.order import session_of
from rekindle.core.job.outcome import by_whom, outcome, turns_well
from rekindle.core.job.retrying import next_try, nothing_was_sent, pause, why_not_resumed
from rekindle.core.job.state import Job, JobStep
from rekindle.core.session.state import TERMINAL, Session, State


def react(job: Job, session: Session | None, now: float, *, has_room: bool) -> list[f.JobFact]:
    """The decision that is due; none if nothing is.

    `session` is that of the current step, or None if it has none yet. `has_room`: another job may start now.
    """
    if job.is_schedule:
        return []
    if job.over is not None:
        return [f.JobTakenUp(at=now)] if is_resumed_by_hand(job, session) else []
    step = job.current
    if job.cancel_asked:
        return _cancelled(job, session, now)
    if step is None:
        return [f.JobOver(at=now, how="done")]
    if step.status == "failed":
        return _failed(job, step, session, now)
    if step.session is None:
        if not has_room or (job.order.not_before or 0.0) > now:
            return []
        return [f.StepBegun(at=now, step=step.order.name, session=session_of(job.id, step.order.name))]
    if session is None:
        return []
    return _decided(job, step, session, now)


def is_resumed_by_hand(job: Job, session: Session | None) -> bool:
    """Whether somebody works on with the session of a job that has failed, or whose session was stopped.

    A job that was cancelled itself stays so: its later steps are not to follow.
    """
    may = job.over == "failed" or (job.over == "cancelled" and job.stopped)
    if not may or session is None or session.state is State.COMPLETED:
        return False
    return session.state not in TERMINAL or session.resume_asked is not None


def could_not_begin(job: Job, step: str, why: str, now: float, *, is_final: bool) -> f.JobFact:
    """What follows if the session of a step could not be begun. `is_final`: it would fail in the same way again."""
    if is_final or job.order.policy != "continue" or not job.retries_left:
        return f.StepOver(at=now, step=step, how="failed", why=why)
    return f.RetryWanted(
        at=now, step=step, how="resume", why=why, until=now + pause(job), attempt=f.NOT_BEGUN, number=job.retries + 1
    )


def is_pending(job: Job, session: Session) -> bool:
    """Whether the newest retry is still to be made: the session has no newer attempt."""
    newest = session.attempt.number if session.attempt is not None else 0
    return job.retry is not None and newest <= job.retry.attempt and not session.is_up


def _decided(job: Job, step: JobStep, session: Session, now: float) -> list[f.JobFact]:
    if job.wish is not None:
        return _as_wished(job, step, session, now)
    found = outcome(session)
    if is_pending(job, session) or found.kind in ("working", "asking", "asleep", "at_rest"):
        return []
    name, cost = step.order.name, session.usage.cost
    if found.kind == "done":
        return [f.StepOver(at=now, step=name, how="done", cost=cost)]
    if found.kind == "cancelled":
        left = tuple(one.order.name for one in job.steps if one.status == "pending")
        over = f.StepOver(at=now, step=name, how="cancelled", why=found.why, cost=cost)
        return [over, f.JobOver(at=now, how="cancelled", why=found.why, not_run=left, stopped=True)]
    if (turns := turns_well(session)) > step.turns:  # there was progress since: the whole budget is there again
        return [f.JobProgressed(at=now, step=name, turns=turns)]
    chosen = next_try(job, session, found, now)
    if chosen.how is None:
        return [f.StepOver(at=now, step=name, how="failed", why=chosen.why, cost=cost)]
    if session.is_up:
        return []  # it is put to sleep first: a try is not followed by another one while its agent is there
    return [_retry(job, step, session, chosen.how, chosen.why, now, until=now + pause(job))]


def _retry(
    job: Job, step: JobStep, session: Session, how: f.How, why: str, now: float, *, until: float, by: str = ""
) -> f.RetryWanted:
    attempt = session.attempt.number if session.attempt is not None else 0
    return f.RetryWanted(
        at=now, step=step.order.name, how=how, why=why, until=until, attempt=attempt, number=job.retries + 1, by=by
    )


def _as_wished(job: Job, step: JobStep, session: Session, now: float) -> list[f.JobFact]:
    """A person's retry: at once, in the way they named, or else by the order of a retry."""
    assert job.wish is not None
    how, why = job.wish.how, f"it was asked for {by_whom(job.wish.by)}"
    if how is None:
        barred = "" if nothing_was_sent(session) else why_not_resumed(job, session, now)
        how, why = ("fresh", barred) if barred else ("resume", why)
    return [_retry(job, step, session, how, why, now, until=now, by=job.wish.by)]


def _failed(job: Job, step: JobStep, session: Session | None, now: float) -> list[f.JobFact]:
    """The job ends after the session of its failed step has: nothing of it runs on."""
    if session is not None and (session.is_up or session.state not in TERMINAL):
        return []
    left = tuple(one.order.name for one in job.steps if one.status == "pending")
    return [f.JobOver(at=now, how="failed", why=_named(job, step), not_run=left)]


def _named(job: Job, step: JobStep) -> str:
    return f"step {step.order.name}: {step.why}" if len(job.steps) > 1 else step.why


def _cancelled(job: Job, session: Session | None, now: float) -> list[f.JobFact]:
    if session is not None and (session.is_up or session.state not in TERMINAL):
        return []
    why = f"cancelled {by_whom(job.cancel_asked)}"
    step = job.current
    if step is None:
        return [f.JobOver(at=now, how="done")]
    if step.status == "begun" and session is not None and session.state is State.COMPLETED:
        return [f.StepOver(at=now, step=step.order.name, how="done", cost=session.usage.cost)]  # it was faster
    left = tuple(one.order.name for one in job.steps if one.status == "pending")
    over: list[f.JobFact] = []
    if step.status == "begun":
        cost = session.usage.cost if session is not None else None
        over = [f.StepOver(at=now, step=step.order.name, how="cancelled", why=why, cost=cost)]
    return [*over, f.JobOver(at=now, how="cancelled", why=why, not_run=left)]
