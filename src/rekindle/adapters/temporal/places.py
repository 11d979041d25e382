"""The places for drives on one host, for all its queues together. A host that is full asks no queue for another job.

The SDK wants a place reserved before it asks a queue. To count what is only reserved would let queues in which nothing
waits hold all places. So a place counts once a job has it. A queue that was being asked when the last place went may
still give a job: the host gives that one back (`host_full`).
"""

from __future__ import annotations

import asyncio

from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    WorkerTuner,
)

_OTHER = FixedSizeSlotSupplier(1)


class SharedPlaces(CustomSlotSupplier):
    """`most` is how many jobs the host drives at once. Belongs to one loop; the SDK calls from its own threads too."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used: dict[int, SlotPermit] = {}
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        """Wait until a place is free; then a queue may be asked."""
        while len(self._used) >= self._most:
            self._changed.clear()
            await self._changed.wait()
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        """A place without waiting: jobs never come in that way."""
        return None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        """A queue has given a job."""
        self._used[id(ctx.permit)] = ctx.permit

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        """A drive has ended, or a queue is not asked any more."""
        if self._used.pop(id(ctx.permit), None) is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)

    def tuner(self) -> WorkerTuner:
        """What the worker of one queue gets. It does nothing but drive."""
        return WorkerTuner.create_composite(
            workflow_supplier=_OTHER,
            activity_supplier=self,
            local_activity_supplier=_OTHER,
            nexus_supplier=_OTHER,
        )
