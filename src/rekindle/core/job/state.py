"""A job as its facts have made it. Pure data, and questions that it alone can answer."""

from __future__ import annotations

from typing import Literal

import msgspec

from rekindle.core.job.facts import End, How
from rekindle.core.job.order import JobOrder, StepOrder

StepStatus = Literal["pending", "begun", "done", "failed", "cancelled", "not_run"]


class JobStep(msgspec.Struct, frozen=True):
    """One task of the job, and how far it is. `turns`: how many of its turns ended well."""

    order: StepOrder
    status: StepStatus = "pending"
    session: str | None = None
    why: str = ""
    cost: float | None = None
    turns: int = 0
    begun_at: float | None = None
    over_at: float | None = None


class Retry(msgspec.Struct, frozen=True):
    """The newest retry. See `facts.RetryWanted`."""

    step: str
    how: How
    why: str
    until: float
    attempt: int
    number: int
    by: str = ""
    at: float = 0.0


class RetryWish(msgspec.Struct, frozen=True):
    """A person's wish for another try that nobody has decided about yet."""

    by: str
    how: How | None


class Job(msgspec.Struct, frozen=True):
    """A job. `steps` are in the order in which they run.

    `spent` retries and `fresh_spent` fresh starts count since the last progress; `retries` counts all of them. `over`
    is None until the job has ended; `stopped`: because somebody stopped its session. `next_at`, when that was set,
    `last_due` and `runs` belong to a schedule.
    """

    id: str
    order: JobOrder
    submitted_at: float
    steps: tuple[JobStep, ...]
    by: str = "user"
    of: str = ""
    due: float | None = None
    retry: Retry | None = None
    retries: int = 0
    spent: int = 0
    fresh_spent: int = 0
    wish: RetryWish | None = None
    cancel_asked: str = ""
    over: End | None = None
    why: str = ""
    over_at: float | None = None
    stopped: bool = False
    next_at: float | None = None
    last_due: float | None = None
    next_set_at: float | None = None
    runs: tuple[str, ...] = ()

    @property
    def current(self) -> JobStep | None:
        """The step that is worked on, or comes next; None: all are done."""
        return next((one for one in self.steps if one.status != "done"), None)

    @property
    def retries_left(self) -> int:
        """How often it is still tried again by itself, unless there is progress."""
        return max(0, self.order.retries - self.spent)

    @property
    def is_schedule(self) -> bool:
        """Whether it starts other jobs instead of working itself."""
        return bool(self.order.every)

    @property
    def has_begun(self) -> bool:
        """Whether a session of it was begun."""
        return any(one.session is not None for one in self.steps)

    def may_cost(self, step: str) -> float | None:
        """What the session of a step may cost in all, in dollars; None: there is no limit.

        What the step itself has cost in earlier tries is part of it, so only the other steps are subtracted.
        """
        found = [one.order.limits.cost for one in self.steps if one.order.name == step]
        if self.order.max_cost is not None:
            others = sum(one.cost or 0.0 for one in self.steps if one.order.name != step)
            found.append(max(self.order.max_cost - others, 0.01))
        return min((one for one in found if one is not None), default=None)
