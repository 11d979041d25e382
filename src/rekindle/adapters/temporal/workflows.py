"""The workflow of a job: drives it, one host at a time, until it is over. Deterministic; carries ids and receipts only.

What a host does is decided on that host, by the same rules as on one machine. Here is only what must outlive every
host: that the job is driven, where a wait ends, and what was signalled. Histories of earlier versions are replayed in
tests (`tests/unit/histories`): a change of the order of commands needs `workflow.patched`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from rekindle.adapters.temporal.names import (
        CLOSES_AFTER_DAYS,
        DRIVE,
        DUE_WORKFLOW,
        JOB_WORKFLOW,
        PROMPTED,
        STATE,
        STOPPED,
        workflow_of,
    )
    from rekindle.adapters.temporal.told import stop_in, why_not_work, wish_in
    from rekindle.core.job.order import fleet_job_at

#: A host that is gone, or cannot, is followed by another one soon.
_RETRY = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), backoff_coefficient=2.0, maximum_interval=timedelta(seconds=5)
)
_LONGEST = timedelta(days=CLOSES_AFTER_DAYS)


@workflow.defn(name=JOB_WORKFLOW)
class JobWorkflow:
    """One job. `work` is a FleetWork as plain data, with `drives`: how many there were before this run.

    A long history is left behind (`continue_as_new`), with everything that was signalled and not acted on yet.
    """

    def __init__(self) -> None:
        self._woken = 0
        self._wish: dict[str, Any] | None = None
        self._stopped_by: str | None = None
        self._has_begun = False
        self._driving: workflow.ActivityHandle[Any] | None = None
        self._until: float | None = None

    @workflow.run
    async def run(self, work: Any) -> dict[str, Any]:
        if why := why_not_work(work):
            raise ApplicationError(f"this is not a job of a fleet: {why}", type="not_ours", non_retryable=True)
        drives = int(work.get("drives", 0))
        self._wish = self._wish or wish_in(("", work.get("wish")))
        if self._stopped_by is None and (stop := stop_in((work.get("stopped_by"), work.get("has_begun")))) is not None:
            self._stopped_by, self._has_begun = stop
        while True:
            if self._stopped_by is not None and not self._has_begun:
                return {"how": "over", "job": work["job"], "result": "cancelled"}
            drives += 1
            woken = self._woken
            end = await self._drive(work, drives)
            if end is None:
                continue
            if end["how"] == "over" and self._woken == woken:
                return end
            if end["how"] == "waits":
                await self._wait(woken, end.get("until"))
            if workflow.info().is_continue_as_new_suggested():
                left = {"wish": self._wish, "stopped_by": self._stopped_by, "has_begun": self._has_begun}
                workflow.continue_as_new({**work, "drives": drives, "not_before": None, **left})

    async def _drive(self, work: dict[str, Any], number: int) -> dict[str, Any] | None:
        """One drive; None if it was cancelled before any host had it, or was cut off while it was being cancelled."""
        wish, self._wish = self._wish, None
        order = {
            "job": work["job"],
            "number": number,
            "heartbeat": work["heartbeat"],
            "cancel_by": self._stopped_by or "",
            "wish": wish,
            "of": work.get("of", ""),
            "due": work.get("due"),
        }
        self._driving = workflow.start_activity(
            DRIVE,
            order,
            task_queue=work["queue"],
            start_to_close_timeout=_LONGEST,
            heartbeat_timeout=timedelta(seconds=work["heartbeat"]),
            retry_policy=_RETRY,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            priority=Priority(priority_key=work.get("urgency", 3)),
            summary=work["job"],
        )
        try:
            found: dict[str, Any] = await self._driving
        except ActivityError as error:
            if self._stopped_by is None:
                raise
            self._has_begun = self._has_begun or not is_cancelled_exception(error)
            return None
        finally:
            self._driving = None
        return found

    async def _wait(self, woken: int, until: float | None) -> None:
        """A durable timer, or for ever; whoever says something ends it."""
        self._until = until
        left = None if until is None else timedelta(seconds=max(0.0, until - workflow.now().timestamp()))
        try:
            await workflow.wait_condition(
                lambda: self._woken != woken or self._stopped_by is not None, timeout=left, timeout_summary="waits"
            )
        except TimeoutError:
            pass
        finally:
            self._until = None

    @workflow.signal(name=PROMPTED)
    def prompted(self, *told: Any) -> None:
        """Somebody has said something to the job's session (the id of a message), or wants another try (a wish)."""
        self._woken += 1
        self._wish = wish_in(told) or self._wish

    @workflow.signal(name=STOPPED)
    def stopped(self, *told: Any) -> None:
        """The job is to be cancelled: by whom, and whether a host has begun it. That host hears so with a heartbeat."""
        found = stop_in(told)
        if self._stopped_by is not None or found is None:
            return
        self._stopped_by, self._has_begun = found
        if self._driving is not None:
            self._driving.cancel()

    @workflow.query(name=STATE)
    def state(self) -> dict[str, Any]:
        """What only the workflow knows."""
        return {"stopped_by": self._stopped_by, "until": self._until, "driving": self._driving is not None}


@workflow.defn(name=DUE_WORKFLOW)
class DueWorkflow:
    """One time of a schedule: has its job driven, and lasts as long as that, so that times do not overlap."""

    @workflow.run
    async def run(self, work: dict[str, Any]) -> dict[str, Any]:
        due = workflow.info().start_time.replace(microsecond=0).astimezone(UTC)
        at = datetime.timestamp(due)
        job = fleet_job_at(work["job"], at)
        found: dict[str, Any] = await workflow.execute_child_workflow(
            JOB_WORKFLOW, {**work, "job": job, "of": work["job"], "due": at, "not_before": None}, id=workflow_of(job)
        )
        return found
