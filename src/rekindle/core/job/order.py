"""What somebody asks for when they submit a job. Pure data.

An order is recorded as a whole when the job is submitted: editing a runbook, or another default, changes no job.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

from rekindle.core.runbook.limits import Limits
from rekindle.core.session.rules import Rules

#: What happens when a try fails: it is tried again, a person is asked, or the job has failed.
JOB_POLICIES: Final = ("continue", "ask", "never")
#: The name of the only step of a job that was given a prompt.
ONLY_STEP: Final = "task"


class StepOrder(msgspec.Struct, frozen=True):
    """One task of a job, worked in one session. `rules` are those of its session."""

    name: str
    prompt: str
    agent: str
    needs: tuple[str, ...] = ()
    cwd: str = ""
    model: str | None = None
    permission: str = "edits"
    arguments: tuple[str, ...] = ()
    program: str = ""
    limits: Limits = Limits()
    rules: Rules | None = None
    rules_source: str = ""
    rules_digest: str = ""


class JobOrder(msgspec.Struct, frozen=True):
    """What a job does, and how far it may go by itself.

    `resume`: a retry resumes the conversation if it can; otherwise each retry starts fresh with the original prompt. A
    conversation whose token was stored more than `max_age` seconds ago, or that was resumed `max_resumes` times, is not
    resumed. `timeout` is how many seconds one turn of a try may take, `max_cost` is in dollars for all steps together.
    Jobs with a higher `priority` start first. `every` makes it a schedule: a cron expression in the time zone `zone`.

    The rest is about a fleet. `labels` are what a host must have. A step's folder is inside the `repository` of that
    name, which each host fetches by itself, at `commit`; without one, each session has an empty folder.
    """

    steps: tuple[StepOrder, ...]
    title: str = ""
    policy: str = "continue"
    resume: bool = True
    retries: int = 3
    timeout: float | None = None
    max_cost: float | None = None
    max_age: float | None = None
    max_resumes: int | None = None
    priority: int = 0
    not_before: float | None = None
    every: str = ""
    zone: str = ""
    worktree: str | None = None
    worktrees_dir: str | None = None
    labels: tuple[str, ...] = ()
    repository: str = ""
    commit: str = ""


def in_order(steps: tuple[StepOrder, ...]) -> tuple[StepOrder, ...]:
    """The steps in the order in which they run: each after those that it needs, otherwise as they were written."""
    left, found = list(steps), list[StepOrder]()
    while left:
        done = {one.name for one in found}
        ready = next((one for one in left if done.issuperset(one.needs)), None)
        if ready is None:
            raise ValueError("these steps need one another")
        left.remove(ready)
        found.append(ready)
    return tuple(found)


def session_of(job: str, step: str) -> str:
    """The id of the session of a step. It is derived, so that beginning it twice begins it once."""
    return hashlib.sha256(f"{job}/{step}".encode()).hexdigest()[:10]


def job_at(schedule: str, due: float) -> str:
    """The id of the job that a schedule starts for one of its times. Derived, for the same reason."""
    return "j" + hashlib.sha256(f"{schedule}@{due:.3f}".encode()).hexdigest()[:8]


def fleet_job_at(schedule: str, due: float) -> str:
    """The same for a schedule of a fleet."""
    return "f" + job_at(schedule, due)[1:]
