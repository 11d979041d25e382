"""What a fact changes in a job. Books facts and decides nothing; a repeated or late fact changes nothing. Pure."""

from __future__ import annotations

from typing import Final, assert_never

from msgspec.structs import replace

from rekindle.core.job import facts as f
from rekindle.core.job.order import in_order
from rekindle.core.job.state import Job, JobStep, Retry, RetryWish

#: How many of the jobs that it has started a schedule remembers.
_RUNS: Final = 20


def evolve(job: Job | None, fact: f.JobFact) -> Job:
    """The job after one more fact."""
    if isinstance(fact, f.JobSubmitted):
        return job if job is not None else _submitted(fact)
    assert job is not None, "a job begins with JobSubmitted"
    if isinstance(fact, f.JobRetryAsked):
        return _wished(job, fact)
    if isinstance(fact, f.JobTakenUp):
        return _opened(job) if job.over in ("failed", "cancelled") else job
    if job.over is not None:
        return job
    match fact:
        case f.StepBegun():
            begun = {"status": "begun", "session": fact.session, "begun_at": fact.at}
            if _status(job, fact.step) != "pending":
                return job
            return replace(_with(job, fact.step, **begun), spent=0, fresh_spent=0)  # the step before it was progress
        case f.RetryWanted():
            return _retried(job, fact) if fact.number > job.retries else job
        case f.JobProgressed():
            step = _step(job, fact.step)
            if step is None or fact.turns <= step.turns:
                return job
            return replace(_with(job, fact.step, turns=fact.turns), spent=0, fresh_spent=0)
        case f.StepOver():
            return _step_over(job, fact)
        case f.JobOver():
            steps = tuple(
                replace(one, status="not_run") if one.order.name in fact.not_run else one for one in job.steps
            )
            over = replace(job, steps=steps, over=fact.how, why=fact.why, over_at=fact.at, stopped=fact.stopped)
            return replace(over, retry=None, wish=None, cancel_asked="", next_at=None)
        case f.JobCancelAsked():
            return job if job.cancel_asked else replace(job, cancel_asked=fact.by, wish=None)
        case f.NextTimeSet():
            runs = job.runs if not fact.job or fact.job in job.runs else (*job.runs, fact.job)[-_RUNS:]
            due = job.last_due if fact.due is None else fact.due
            return replace(job, next_at=fact.next_at, next_set_at=fact.at, last_due=due, runs=runs)
        case f.RetryMoved():
            if job.retry is None or job.retry.number != fact.number:
                return job
            return replace(job, retry=replace(job.retry, until=fact.until, at=fact.at))
        case _:
            assert_never(fact)


def _submitted(fact: f.JobSubmitted) -> Job:
    steps = tuple(JobStep(one) for one in in_order(fact.order.steps))
    return Job(fact.job, fact.order, fact.at, steps, fact.by, fact.of, fact.due)


def _step(job: Job, name: str) -> JobStep | None:
    return next((one for one in job.steps if one.order.name == name), None)


def _status(job: Job, name: str) -> str:
    step = _step(job, name)
    return step.status if step is not None else ""


def _with(job: Job, step: str, **changes: object) -> Job:
    return replace(job, steps=tuple(replace(one, **changes) if one.order.name == step else one for one in job.steps))


def _retried(job: Job, fact: f.RetryWanted) -> Job:
    retry = Retry(fact.step, fact.how, fact.why, fact.until, fact.attempt, fact.number, fact.by, fact.at)
    counted = replace(job, retry=retry, retries=fact.number, wish=None)
    if fact.by:
        return counted
    return replace(counted, spent=job.spent + 1, fresh_spent=job.fresh_spent + (fact.how == "fresh"))


def _step_over(job: Job, fact: f.StepOver) -> Job:
    if _status(job, fact.step) not in ("pending", "begun"):
        return job
    over = _with(job, fact.step, status=fact.how, why=fact.why, cost=fact.cost, over_at=fact.at)
    return replace(over, retry=None)


def _wished(job: Job, fact: f.JobRetryAsked) -> Job:
    if job.over == "done":
        return job
    order = job.order if fact.max_cost is None else replace(job.order, max_cost=fact.max_cost)
    return replace(_opened(job), order=order, wish=RetryWish(fact.by, fact.how))


def _opened(job: Job) -> Job:
    """The job is open again: its failed step goes on, and those that it did not get to follow."""
    steps = tuple(one if one.status in ("done", "begun", "pending") else _again(one) for one in job.steps)
    opened = replace(job, steps=steps, over=None, why="", over_at=None, spent=0, fresh_spent=0, stopped=False)
    return replace(opened, wish=None, retry=None, cancel_asked="")


def _again(step: JobStep) -> JobStep:
    status = "begun" if step.session is not None else "pending"
    return replace(step, status=status, why="", over_at=None)
