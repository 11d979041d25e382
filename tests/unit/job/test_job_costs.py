"""What a job may cost: for all its steps together, over all tries, and what a runbook allows."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.app.job_submitting import JobSubmitting, JobTerms
from rekindle.app.runbooks import Runbooks
from rekindle.core.job import facts as jf
from rekindle.core.job.machine import evolve
from rekindle.core.job.order import JobOrder
from rekindle.core.job.state import Job
from tests.fakes.calendar import HourlyCalendar
from tests.fakes.settings_file import FakeSettingsFile
from tests.job_stage import order, step

RUNBOOK = b"""[agent.worker]
run = "fake"
prompt = "do it"
limits = { max_cost = 2 }
"""
STEPS = b"""
[[step]]
name = "build"
agent = "worker"
prompt = "build it"

[[step]]
name = "ship"
agent = "worker"
prompt = "ship it"
needs = ["build"]
"""


def begun(wanted: JobOrder) -> Job:
    return evolve(None, jf.JobSubmitted(at=1.0, job="j00000001", order=wanted))


def failed(job: Job, name: str, cost: float) -> Job:
    """The step has failed after this much, and the job with it."""
    for fact in (
        jf.StepBegun(at=2.0, step=name, session="s1"),
        jf.StepOver(at=3.0, step=name, how="failed", why="no", cost=cost),
        jf.JobOver(at=4.0, how="failed", why="no"),
    ):
        job = evolve(job, fact)
    return job


def submitted(runbook: bytes, **terms: Any) -> JobOrder:
    """The order that the daemon gets."""
    heard: list[dict[str, Any]] = []

    class Listener:
        def ask(self, _operation: str, **request: Any) -> dict[str, Any]:
            heard.append(request)
            return {"job": {}}

    runbooks = Runbooks(FakeSettingsFile("/own.toml"), ["fake"], lambda _path: b"")
    submitting = JobSubmitting(
        Listener(),  # type: ignore[arg-type]
        runbooks,
        HourlyCalendar(),
        lambda _path: None,
        lambda _root: None,
        {},
    )
    submitting.submit(JobTerms(runbook=("/r.toml", runbook), **terms))
    return msgspec.convert(heard[0]["order"], JobOrder)


def test_what_a_step_has_cost_already_is_not_taken_from_its_limit_a_second_time() -> None:
    job = failed(begun(order(max_cost=1.0)), "task", 0.6)
    again = evolve(job, jf.JobRetryAsked(at=5.0, by="me"))
    assert again.may_cost("task") == 1.0, "the limit of a session counts all that it has cost, earlier tries included"


def test_other_steps_are_taken_from_what_a_step_may_cost_and_something_is_always_left() -> None:
    job = begun(order(step("build"), step("ship", "ship it", "build"), max_cost=1.0))
    for fact in (
        jf.StepBegun(at=2.0, step="build", session="s1"),
        jf.StepOver(at=3.0, step="build", how="done", cost=0.75),
    ):
        job = evolve(job, fact)
    assert (job.may_cost("build"), job.may_cost("ship")) == (1.0, 0.25)
    assert evolve(job, jf.JobRetryAsked(at=5.0, by="me", max_cost=0.5)).may_cost("ship") == 0.01
    assert begun(order()).may_cost("task") is None


def test_the_cost_that_a_runbook_allows_its_agent_limits_the_job() -> None:
    assert begun(submitted(RUNBOOK, words=("worker",))).may_cost("task") == 2.0
    assert begun(submitted(RUNBOOK, words=("worker",), limits={"cost": 5.0})).may_cost("task") == 5.0


def test_the_cost_that_a_runbook_allows_an_agent_limits_each_step_of_a_pipeline() -> None:
    job = begun(submitted(RUNBOOK + STEPS))
    assert [job.may_cost(one.order.name) for one in job.steps] == [2.0, 2.0]
    job = begun(submitted(RUNBOOK + STEPS, limits={"cost": 3.0}))
    assert [job.may_cost(one.order.name) for one in job.steps] == [3.0, 3.0]


def test_a_runbooks_limits_hold_before_the_users_settings_and_what_was_typed_before_both() -> None:
    usual = {"cost": 9.0, "turn_seconds": 60.0, "priority": -1}
    book = RUNBOOK.replace(b"max_cost = 2", b'max_cost = 2, priority = "high"')
    found = submitted(book, words=("worker",), usual=usual)
    assert (found.max_cost, found.timeout, found.priority) == (2.0, 60.0, 1)
    assert submitted(book, words=("worker",), usual=usual, limits={"cost": 5.0}).max_cost == 5.0
    found = submitted(book + STEPS, usual=usual)
    assert (found.max_cost, [one.limits.cost for one in found.steps]) == (None, [2.0, 2.0])
    silent = book.replace(b'max_cost = 2, priority = "high"', b"")
    assert submitted(silent + STEPS, usual=usual).max_cost == 9.0, "for all steps together"
