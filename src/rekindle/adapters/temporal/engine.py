"""What any host asks of the fleet's engine, on Temporal. See `rekindle.ports.fleet_engine.FleetEngine`."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any, TypeVar

import msgspec
from temporalio.api.enums.v1 import PendingActivityState
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    WorkflowExecutionStatus,
)
from temporalio.common import Priority, WorkflowIDConflictPolicy
from temporalio.service import RPCError, RPCStatusCode

from rekindle.adapters.temporal.names import DUE_WORKFLOW, JOB_WORKFLOW, PROMPTED, STATE, STOPPED, workflow_of
from rekindle.adapters.temporal.tls_trouble import unreachable
from rekindle.core.fleet.needs import WORKFLOWS
from rekindle.ports.fleet_engine import DriveWish, FleetSchedule, FleetWork, WorkState

Answer = TypeVar("Answer")
_ASKED = timedelta(seconds=10)
#: Schedules that no server heard of for longer than this start once all the same.
_CAUGHT_UP = timedelta(days=365)


class TemporalEngine:
    """One client of one host."""

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._address = address

    async def submit(self, work: FleetWork) -> None:
        """Have a job driven."""
        await self._start(work)

    async def schedule(self, schedule: FleetSchedule) -> None:
        """Start jobs by the calendar."""
        action = ScheduleActionStartWorkflow(
            DUE_WORKFLOW, _plain(schedule.work), id=workflow_of(schedule.work.job), task_queue=WORKFLOWS
        )
        spec = ScheduleSpec(cron_expressions=[schedule.every], time_zone_name=schedule.zone or None)
        policy = SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=_CAUGHT_UP)
        made = Schedule(action=action, spec=spec, policy=policy)
        try:
            await self._asked(self._client.create_schedule(workflow_of(schedule.work.job), made, rpc_timeout=_ASKED))
        except ScheduleAlreadyRunningError:
            return

    async def wake(self, work: FleetWork, mail: str, wish: DriveWish | None = None) -> None:
        """Have a job driven that waits or is over."""
        told = None if wish is None else msgspec.to_builtins(wish)
        await self._start(work, start_signal=PROMPTED, start_signal_args=[mail, told])

    async def cancel(self, work: FleetWork, by: str, *, has_begun: bool) -> None:
        """Have a job cancelled."""
        if has_begun:
            await self._start(work, start_signal=STOPPED, start_signal_args=[by, True])
            return
        handle = self._client.get_workflow_handle(workflow_of(work.job))
        try:
            await self._asked(
                handle.signal(STOPPED, args=[by, False], rpc_timeout=_ASKED), unknown=RPCStatusCode.NOT_FOUND
            )
        except _Unknown:
            return

    async def end_schedule(self, job: str) -> None:
        """A schedule starts no more jobs."""
        handle = self._client.get_schedule_handle(workflow_of(job))
        try:
            await self._asked(handle.delete(rpc_timeout=_ASKED), unknown=RPCStatusCode.NOT_FOUND)
        except _Unknown:
            return

    async def state(self, job: str) -> WorkState:
        """How a job stands."""
        handle = self._client.get_workflow_handle(workflow_of(job))
        try:
            told = await self._asked(handle.describe(rpc_timeout=_ASKED), unknown=RPCStatusCode.NOT_FOUND)
        except _Unknown:
            return WorkState("unknown")
        if told.status is not WorkflowExecutionStatus.RUNNING:
            return WorkState("over")
        pending = list(told.raw_description.pending_activities)
        for one in pending:
            if one.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED:
                return WorkState("driven", host=one.last_worker_identity)
        if pending:
            return WorkState("queued")
        if told.history_length <= 2 and told.execution_time is not None:
            at = told.execution_time.timestamp()
            return WorkState("delayed", until=at) if at > time.time() else WorkState("queued")
        try:
            found: dict[str, Any] = await self._asked(handle.query(STATE, rpc_timeout=timedelta(seconds=3)))
        except Exception:
            return WorkState("queued")  # no host is there to tell
        return WorkState("queued") if found["driving"] else WorkState("waiting", until=found["until"])

    async def close(self) -> None:
        """The client needs no closing: it goes with its last user."""

    async def _start(self, work: FleetWork, **signal: Any) -> None:
        left = max(0.0, (work.not_before or 0.0) - time.time())
        await self._asked(
            self._client.start_workflow(
                JOB_WORKFLOW,
                _plain(work),
                id=workflow_of(work.job),
                task_queue=WORKFLOWS,
                id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                start_delay=timedelta(seconds=left) if left and not signal else None,
                priority=Priority(priority_key=work.urgency),
                rpc_timeout=_ASKED,
                **signal,
            )
        )

    async def _asked(self, request: Awaitable[Answer], unknown: RPCStatusCode | None = None) -> Answer:
        try:
            return await request
        except RPCError as error:
            if unknown is not None and error.status is unknown:
                raise _Unknown from error
            raise unreachable(self._address, error) from error
        except RuntimeError as error:  # a lazy client that cannot connect
            raise unreachable(self._address, error) from error


class _Unknown(Exception):
    """The server knows nothing of that name."""


def _plain(work: FleetWork) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(work)
    return found
