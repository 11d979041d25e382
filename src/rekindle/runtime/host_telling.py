"""One host of a fleet tells the others that it is there, and how it is: how many agents work, and what runs."""

from __future__ import annotations

import asyncio
import logging

from rekindle import __version__
from rekindle.core.governor.places import is_at_work
from rekindle.ports.hosts import HostReport, Hosts, HostState, RunningAttempt
from rekindle.ports.runtimes import Runtime
from rekindle.ports.store import StoreError
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)

#: The time between two reports. A host that has not told for three times as long is called silent.
TELL_SECONDS = 5.0
#: The time between two looks at what really runs: that asks every keeper.
RECOVER_SECONDS = 30.0


class HostTelling:
    """Belongs to one daemon. `run` has to be kept running.

    `labels`, `capacity` and what a worker tells may be changed at any time.
    """

    def __init__(self, hosts: Hosts, supervisor: Supervisor, runtime: Runtime) -> None:
        self._hosts = hosts
        self._supervisor = supervisor
        self._runtime = runtime
        self.labels: tuple[str, ...] = ()
        self.capacity: int | None = None
        self.is_worker = False
        self.agents: tuple[str, ...] = ()
        #: why this host can take no jobs at the moment, though it is a worker
        self.trouble = ""
        #: as the store has it: what a person has made of this host; None: the store was not asked yet
        self.state: HostState | None = None
        #: how often a person has changed it here
        self._changes = 0
        self._running: tuple[RunningAttempt, ...] = ()
        self._recovered = float("-inf")

    async def run(self) -> None:
        """Tell, for ever."""
        is_well = True
        while True:
            try:
                await self.tell()
                is_well = True
            except StoreError as error:
                if is_well:
                    log.warning("other hosts cannot be told about this one: %s", error.message)
                is_well = False
            await asyncio.sleep(TELL_SECONDS)

    async def tell(self) -> None:
        """Tell now. Raises StoreError."""
        now = asyncio.get_running_loop().time()
        if now - self._recovered >= RECOVER_SECONDS:
            self._recovered = now
            self._running = await asyncio.to_thread(self._recover)
        changes = self._changes
        state = await asyncio.to_thread(self._hosts.tell, self._report())
        if changes == self._changes:  # else this may be what the host was before somebody changed it
            self.state = state

    async def change(self, state: HostState) -> None:
        """A person makes something else of this host. Raises StoreError."""
        await asyncio.to_thread(self._hosts.change, state)
        self._changes += 1
        self.state = state

    def _report(self) -> HostReport:
        room = self._supervisor.governing.placing.room
        return HostReport(
            labels=self.labels,
            capacity=self.capacity if self.capacity is not None else room.most if room is not None else None,
            in_use=sum(is_at_work(one) for one in self._supervisor.engine.at_hand()),
            version=__version__,
            running=self._running,
            is_worker=self.is_worker,
            agents=self.agents,
            trouble=self.trouble,
        )

    def _recover(self) -> tuple[RunningAttempt, ...]:
        found = self._runtime.recover_instances()
        return tuple(RunningAttempt(one.session, one.attempt, one.state, one.pid, one.answers) for one in found)
