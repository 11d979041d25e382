"""What can happen to a job, as data. A fact is appended to the store before anything acts on it.

Facts are kept for ever: fields may be added, with a default, and never changed or removed.
"""

from __future__ import annotations

from typing import Final, Literal

from rekindle.core.fact import Fact
from rekindle.core.job.order import JobOrder

#: How a step or a job ends.
End = Literal["done", "failed", "cancelled"]
#: How a step is tried again: in the same conversation, or fresh with the original prompt.
How = Literal["resume", "fresh"]


#: The attempt of a session that could not be begun.
NOT_BEGUN: Final = -1


class JobSubmitted(Fact, frozen=True, kw_only=True, tag="job_submitted"):
    """Somebody wants this done. `of` is the schedule that started it, for its time `due`."""

    job: str
    order: JobOrder
    by: str = "user"
    of: str = ""
    due: float | None = None


class StepBegun(Fact, frozen=True, kw_only=True, tag="step_begun"):
    """The session of a step is about to be begun. Its id is derived, so a second beginning changes nothing."""

    step: str
    session: str


class RetryWanted(Fact, frozen=True, kw_only=True, tag="retry_wanted"):
    """The step is tried again at `until`. `attempt` is the newest attempt of its session when this was decided.

    The retry has been made as soon as the session has a newer one, or with NOT_BEGUN as soon as there is a session.
    `number` counts the retries of a job. `by` is empty
    if rekindle decided it: then it is paid from the job's budget.
    """

    step: str
    how: How
    why: str
    until: float
    attempt: int
    number: int
    by: str = ""


class JobProgressed(Fact, frozen=True, kw_only=True, tag="job_progressed"):
    """A turn ended well: the budget is given back. `turns` is how many did in this step's session."""

    step: str
    turns: int


class StepOver(Fact, frozen=True, kw_only=True, tag="step_over"):
    """A step has ended. `cost` is what its session has cost in dollars, if known."""

    step: str
    how: End
    why: str = ""
    cost: float | None = None


class JobOver(Fact, frozen=True, kw_only=True, tag="job_over"):
    """The job has ended. `not_run` are the steps that it did not get to; `stopped`: somebody stopped its session."""

    how: End
    why: str = ""
    not_run: tuple[str, ...] = ()
    stopped: bool = False


class JobRetryAsked(Fact, frozen=True, kw_only=True, tag="job_retry_asked"):
    """A person wants another try, and gives the whole budget back. `how` None: by the order of a retry."""

    by: str
    how: How | None = None
    max_cost: float | None = None


class JobTakenUp(Fact, frozen=True, kw_only=True, tag="job_taken_up"):
    """The job had ended, and somebody has resumed its session by hand: it goes on with that, and its steps follow."""


class JobCancelAsked(Fact, frozen=True, kw_only=True, tag="job_cancel_asked"):
    """A person wants it ended."""

    by: str


class NextTimeSet(Fact, frozen=True, kw_only=True, tag="next_time_set"):
    """When a schedule starts its next job. `due` and `job` are the time that has come, and the job started for it."""

    next_at: float | None
    due: float | None = None
    job: str = ""
    why: str = ""


class RetryMoved(Fact, frozen=True, kw_only=True, tag="retry_moved"):
    """Somebody has set the machine's clock: the retry of this number is as far away as it was, at `until`.

    The time at which a person wants a job to begin, and those of a schedule, are times of the day: they do not move.
    """

    number: int
    until: float


JobFact = (
    JobSubmitted
    | StepBegun
    | RetryWanted
    | JobProgressed
    | StepOver
    | JobOver
    | JobRetryAsked
    | JobTakenUp
    | JobCancelAsked
    | NextTimeSet
    | RetryMoved
)
