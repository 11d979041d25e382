"""What a workflow asks this host for, as an order to drive a job, or refused for good."""

from __future__ import annotations

import logging
import time
from typing import Any

import msgspec
from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from rekindle.adapters.temporal.names import JOB_WORKFLOW, workflow_of
from rekindle.adapters.temporal.told import ToldDrive, why_not_job
from rekindle.keeper.deadline import clock
from rekindle.ports.fleet_engine import DriveOrder

log = logging.getLogger(__name__)


def order_of(told: Any, info: activity.Info) -> DriveOrder:
    """What is to be driven. How long an agent may live follows from what the server does, whatever the order says.

    Refused for good: what is asked for by anybody but the one workflow of the job. Two drives would be two agents.
    """
    try:
        asked = msgspec.convert(told, ToldDrive)
    except msgspec.ValidationError as error:
        raise _not_ours(str(error)) from None
    if why := why_not_job(asked.job, asked.heartbeat):
        raise _not_ours(why)
    if (info.workflow_id, info.workflow_type) != (workflow_of(asked.job), JOB_WORKFLOW):
        raise _not_ours(f"only the workflow {workflow_of(asked.job)} has {asked.job} driven")
    if info.heartbeat_timeout is None or info.start_to_close_timeout is None:
        raise _not_ours("the server would never notice that its host is gone")
    passed = max(0.0, time.time() - info.started_time.timestamp())
    return DriveOrder(
        asked.job,
        asked.number,
        min(asked.heartbeat, info.heartbeat_timeout.total_seconds()),
        closes_at=clock() + info.start_to_close_timeout.total_seconds() - passed,
        cancel_by=asked.cancel_by,
        wish=asked.wish,
        of=asked.of,
        due=asked.due,
    )


def _not_ours(why: str) -> ApplicationError:
    log.warning("something that is no drive of a job was refused: %s", why)
    return failed(f"this is not a drive of a fleet's job: {why}", "not_ours", non_retryable=True)


def failed(why: str, code: str, **more: Any) -> ApplicationError:
    """What the server is told. The SDK would log it once more, with a traceback: it is in the log already."""
    return ApplicationError(why, type=code, category=ApplicationErrorCategory.BENIGN, **more)
