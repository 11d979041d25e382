"""The part of a host that takes jobs from Temporal's queues. See `rekindle.ports.fleet_engine.FleetWorker`.

Heartbeats go through the client, not through the SDK's own: those are gathered and sent later, and nobody is told
whether the server has accepted one. An agent's life depends on exactly that. The SDK hears of each one that was
accepted all the same: it counts the time on its own, and gives up a drive that it has not heard from.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, NoReturn

import msgspec
from temporalio import activity
from temporalio.client import AsyncActivityCancelledError, AsyncActivityHandle, Client
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Worker

from rekindle.adapters.temporal.asked import failed, order_of
from rekindle.adapters.temporal.names import DRIVE, STATE, workflow_of
from rekindle.adapters.temporal.places import SharedPlaces
from rekindle.adapters.temporal.workflows import DueWorkflow, JobWorkflow
from rekindle.core.fleet.needs import WORKFLOWS
from rekindle.ports.errors import RekindleError
from rekindle.ports.fleet_engine import Drive, DriveEnd, DriveTold, Heard

log = logging.getLogger(__name__)
#: The longest wait for an answer to one heartbeat.
_ANSWER = 5.0
_FOREVER = timedelta(days=3650)
_PAUSE = 1.0
#: What the server says to a host that has no right to the job any more.
_REFUSED = (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.FAILED_PRECONDITION)


@dataclass
class TemporalPulse:
    """See `Pulse`. `handle` is that of the drive's own task: a later try has another one. `also` tells the SDK.

    `is_given_up`: the SDK does not pass on any more what this drive ends with.
    """

    client: Client
    handle: AsyncActivityHandle
    job: str
    answer: float
    also: Callable[[Any], None]
    is_given_up: bool = False

    async def beat(self, told: DriveTold) -> Heard:
        """Say that this host still drives the job."""
        if self.is_given_up:
            return "lost"
        details = msgspec.to_builtins(told)
        heard: Heard = "accepted"
        try:
            async with asyncio.timeout(self.answer):
                await self.handle.heartbeat(details, rpc_timeout=timedelta(seconds=self.answer))
        except AsyncActivityCancelledError as error:
            if error.details is not None and not error.details.cancel_requested:
                return "lost"  # an operator has paused or reset it at the server: the job itself is not to be cancelled
            heard = "cancelled"
        except RPCError as error:
            return "lost" if error.status in _REFUSED else "away"
        except (TimeoutError, RuntimeError, OSError):
            return "away"
        self.also(details)
        return heard

    async def cancelled_by(self) -> str:
        """Who wants the job cancelled."""
        with contextlib.suppress(Exception):
            handle = self.client.get_workflow_handle(workflow_of(self.job))
            found: dict[str, Any] = await handle.query(STATE, rpc_timeout=timedelta(seconds=_ANSWER))
            return str(found["stopped_by"] or "")
        return ""


class TemporalWorker:
    """`slots` is how many jobs this host drives at once, from all its queues together. Belongs to one loop."""

    def __init__(self, client: Client, slots: int, queues: frozenset[str] = frozenset()) -> None:
        self._client = client
        self._places = SharedPlaces(slots)
        self._queues = queues
        self._changed = asyncio.Event()
        self._workers: dict[str, tuple[Worker, asyncio.Task[None]]] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._drives: set[asyncio.Future[Any]] = set()

    async def run(self, drive: Drive) -> None:
        """Take jobs and drive them."""
        flows = asyncio.ensure_future(self._kept(self._flows))
        try:
            while True:
                self._changed.clear()
                self._follow(drive)
                news = asyncio.ensure_future(self._changed.wait())
                running = [one for _, one in self._workers.values()]
                await asyncio.wait([news, flows, *running], return_when=asyncio.FIRST_COMPLETED)
                news.cancel()
                if flows.done():
                    flows.result()
                for failed in (one for one in running if one.done() and not one.cancelled() and one.exception()):
                    log.warning("a queue is listened to again in a moment: %s", failed.exception())
                    await asyncio.sleep(_PAUSE)
        finally:
            for drive_ in self._drives:
                drive_.cancel()  # else the workers would wait for their ends
            tasks = [flows, *self._leaving, *(one for _, one in self._workers.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def listen_to(self, queues: frozenset[str]) -> None:
        """Take jobs from these queues only."""
        if queues != self._queues:
            self._queues = queues
            self._changed.set()

    def _follow(self, drive: Drive) -> None:
        """Have one worker for each queue; one that is not wanted any more ends when its last drive does."""
        for queue, (worker, task) in list(self._workers.items()):
            if task.done():
                del self._workers[queue]
            elif queue not in self._queues:
                del self._workers[queue]
                leaving = asyncio.ensure_future(worker.shutdown())
                for one in (leaving, task):
                    self._leaving.add(one)
                    one.add_done_callback(self._leaving.discard)
        for queue in self._queues - self._workers.keys():
            worker = self._worker(queue, drive)
            self._workers[queue] = (worker, asyncio.ensure_future(self._kept(lambda worker=worker: worker)))

    def _flows(self) -> Worker:
        return Worker(
            self._client,
            task_queue=WORKFLOWS,
            workflows=[JobWorkflow, DueWorkflow],
            max_concurrent_workflow_task_polls=2,
            max_cached_workflows=200,
        )

    def _worker(self, queue: str, drive: Drive) -> Worker:
        return Worker(
            self._client,
            task_queue=queue,
            activities=[_Driven(self._client, drive, self._drives).drive],
            tuner=self._places.tuner(),
            max_concurrent_activity_task_polls=1,  # fewer come too many
            graceful_shutdown_timeout=_FOREVER,
            disable_eager_activity_execution=True,
        )

    async def _kept(self, make: Any) -> None:
        """Run a worker; if the server goes away for long, begin anew."""
        await make().run()


class _Driven:
    """The activity: one drive of one job. `drives` has all that are under way."""

    def __init__(self, client: Client, drive: Drive, drives: set[asyncio.Future[Any]]) -> None:
        self._client = client
        self._drive = drive
        self._drives = drives

    @activity.defn(name=DRIVE)
    async def drive(self, told: Any) -> dict[str, Any]:
        info = activity.info()
        order = order_of(told, info)
        handle = self._client.get_async_activity_handle(task_token=info.task_token)
        also = partial(contextvars.copy_context().run, activity.heartbeat)
        pulse = TemporalPulse(self._client, handle, order.job, min(_ANSWER, order.heartbeat / 4), also)
        driving = asyncio.ensure_future(self._drive(order, pulse))
        self._drives.add(driving)
        driving.add_done_callback(self._drives.discard)
        try:
            found: dict[str, Any] = msgspec.to_builtins(await _undisturbed(driving, pulse))
            return found
        except asyncio.CancelledError:
            _leave_without_a_word()
        except RekindleError as error:
            log.warning("%s is not driven here: %s", order.job, error.message)
            delay = timedelta(seconds=_PAUSE) if error.code == "host_full" else None
            raise failed(error.message[:500], error.code, next_retry_delay=delay) from None
        except Exception as error:  # its words may quote anything, and the engine keeps what it is told
            log.exception("%s: the drive failed", order.job)
            words = f"{type(error).__name__} on this host; its daemon's log has the rest"
            raise failed(words, "fault") from None


async def _undisturbed(driving: asyncio.Future[DriveEnd], pulse: TemporalPulse) -> DriveEnd:
    """How a drive ends. Only a worker that leaves cuts it off.

    The SDK also cancels it for what the server says to heartbeats: that is the pulse's to hear, and needs time.
    """
    task = asyncio.current_task()
    assert task is not None
    while True:
        try:
            return await asyncio.shield(driving)
        except asyncio.CancelledError:
            why = activity.cancellation_details()
            if driving.done() or why is None or why.worker_shutdown:
                driving.cancel()
                await asyncio.gather(driving, return_exceptions=True)
                raise
            pulse.is_given_up = pulse.is_given_up or why.timed_out or why.not_found
            task.uncancel()


def _leave_without_a_word() -> NoReturn:
    """This process leaves, and its agents live until their leases run out: the engine must not hear of it sooner.

    If it were told, another host would be asked to go on at once, while an agent still lives here.
    """
    activity.raise_complete_async()
