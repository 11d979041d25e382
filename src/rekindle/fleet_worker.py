"""What a host needs to submit jobs to the fleet's engine, and to drive them, put together.

The engine's SDK is loaded when the first job is submitted, or when this host is a worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rekindle.adapters.keepers.keeper_process import KeeperProcesses
from rekindle.adapters.machine import agent_programs
from rekindle.adapters.machine.fleet_settings import FleetSettings, fleet_settings
from rekindle.adapters.machine.fleet_terms import Agreed, check_engine
from rekindle.adapters.off_host import clones
from rekindle.adapters.sql_store.shared_jobs import SharedJobs
from rekindle.agents.registry import AGENTS
from rekindle.app.driving import Driving, DrivingParts
from rekindle.app.fleet_job_service import FleetJobService
from rekindle.app.jobs import JobService
from rekindle.app.takeovers import Takeovers
from rekindle.core.fleet.needs import is_for, memory_label, repository_labels
from rekindle.core.fleet.spelling import is_label
from rekindle.ports.errors import RekindleError, UsageError, not_in_fleet
from rekindle.ports.fleet_engine import FleetEngine, FleetWorker
from rekindle.ports.hosts import Hosts, HostState
from rekindle.ports.placements import Placements
from rekindle.ports.store import StoreAccess, StoreError
from rekindle.runtime.driven_jobs import DrivenJobs
from rekindle.runtime.fleet_member import FleetMember
from rekindle.runtime.host_telling import HostTelling
from rekindle.runtime.leases import Leases
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
#: How long to leave the engine alone about a job after it was asked to have it driven.
_ASK_AGAIN = 10.0
#: How many jobs a host drives at once where nobody has said how many agents may work.
_USUAL = 4


class WorkerTerms(msgspec.Struct, frozen=True):
    """How a worker was started. `capacity` None: as many jobs as the machine has room for agents."""

    labels: tuple[str, ...] = ()
    capacity: int | None = None


class WorkerState(msgspec.Struct, frozen=True):
    """This host as a worker. `is_worker` is false if it only submits. `trouble`: why it can take no jobs just now."""

    host: str
    is_worker: bool
    state: str
    labels: tuple[str, ...]
    capacity: int
    jobs: list[str]
    queues: list[str]
    trouble: str = ""


def check_worker(environment: Mapping[str, str], labels: tuple[str, ...]) -> None:
    """Whether this machine can be a worker, as far as its settings say. Raises UsageError."""
    settings = fleet_settings(environment)
    if settings is None:
        raise not_in_fleet()
    if settings.temporal is None:
        raise _no_engine()
    for label in labels:
        if not is_label(label):
            raise UsageError(f"{label!r} is not a label", "use lower-case letters, digits, dots and dashes")
    try:
        import temporalio  # noqa: F401
    except ModuleNotFoundError as error:
        raise _no_sdk() from error


def _no_engine() -> UsageError:
    return UsageError("this fleet has no engine", "`rekindle config set temporal_address HOST:PORT` (docs/fleet.md)")


def _no_sdk() -> UsageError:
    return UsageError("jobs of a fleet need temporalio, which is not installed", "pip install 'rekindle[fleet]'")


@dataclass(frozen=True)
class FleetParts:
    """What the daemon has made before."""

    settings: FleetSettings
    jobs: SharedJobs
    placements: Placements
    access: StoreAccess
    supervisor: Supervisor
    keepers: KeeperProcesses
    driven: DrivenJobs
    leases: Leases
    own: JobService
    environment: Mapping[str, str]
    clones: str
    takeovers: Takeovers
    member: FleetMember
    telling: HostTelling
    hosts: Hosts


@dataclass
class EngineRoom:
    """The engine as this host sees it, and what it drives. Belongs to one daemon."""

    parts: FleetParts
    terms: WorkerTerms | None
    agreed: Agreed
    service: FleetJobService = field(init=False)
    driving: Driving = field(init=False)
    _engine: FleetEngine | None = None
    _worker: FleetWorker | None = None
    _queues: frozenset[str] = frozenset()
    _repositories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.parts.telling.labels = self.labels
        self.parts.telling.is_worker = self.terms is not None
        self.parts.telling.agents = tuple(_agents_here(self.parts.environment))
        self.parts.telling.capacity = self.terms.capacity if self.terms is not None else None
        parts, clock = self.parts, self.parts.supervisor.engine.clock
        self.service = FleetJobService(
            *(parts.own, parts.jobs, parts.placements, parts.hosts, parts.access, self.engine),
            *(parts.settings.heartbeat, clock),
        )
        self.driving = Driving(
            DrivingParts(
                *(parts.settings.host, parts.supervisor, parts.keepers, parts.driven, parts.jobs, parts.placements),
                *(parts.takeovers, parts.leases, parts.member.ship_now, parts.member.copied),
            ),
            self.capacity,
        )

    def capacity(self) -> int:
        """How many jobs this host drives at once."""
        room = self.parts.supervisor.governing.placing.room
        usual = room.most if room is not None else _USUAL
        return usual if self.terms is None or self.terms.capacity is None else self.terms.capacity

    @property
    def labels(self) -> tuple[str, ...]:
        """What this host has, for jobs that need it."""
        given = self.terms.labels if self.terms is not None else ()
        reading = self.parts.supervisor.governing.placing.reading
        memory = memory_label(reading.memory) if reading is not None else []
        return tuple(sorted({*self.parts.settings.labels, *given, *memory, *repository_labels(self._repositories)}))

    def offered(self) -> dict[str, Callable[..., Coroutine[Any, Any, msgspec.Struct]]]:
        """What a daemon of a fleet can be asked for about jobs and about itself."""
        jobs = self.service
        return {
            "job_submit": jobs.submit,
            "job_list": jobs.list_jobs,
            "job_show": jobs.show,
            "job_retry": jobs.retry,
            "job_cancel": jobs.cancel,
            "job_wait": jobs.wait,
            "worker_state": self.shown,
            "worker_change": self.change,
        }

    async def shown(self) -> WorkerState:
        """This host as a worker."""
        return WorkerState(
            self.parts.settings.host,
            self.terms is not None,
            self.parts.telling.state or "ready",
            self.labels,
            self.capacity(),
            self.driving.driven,
            sorted(self._queues),
            self.parts.telling.trouble,
        )

    async def change(self, state: HostState) -> WorkerState:
        """Take no more jobs (cordoned), also let go of those that are driven at the end of their turns (draining)."""
        if state not in ("ready", "cordoned", "draining"):
            raise UsageError(f"{state!r} is not a state of a worker", "it is one of: ready, cordoned, draining")
        await self.parts.telling.change(state)
        await self._listen()
        return await self.shown()

    async def engine(self) -> FleetEngine:
        """The fleet's engine. Raises EngineError and UsageError."""
        if self._engine is None:
            settings = self.parts.settings.temporal
            if settings is None:
                raise _no_engine()
            try:
                from rekindle.adapters.temporal.engine import TemporalEngine
            except ModuleNotFoundError as error:
                raise _no_sdk() from error
            client = await self._client(lazy=True)
            await self._check(client)
            self._engine = TemporalEngine(client, settings.address)
        return self._engine

    def chores(self) -> list[Coroutine[Any, Any, None]]:
        """The background work of a host, and that of a worker."""
        waking = [self._keep_waking()] if self.parts.settings.temporal is not None else []
        return waking if self.terms is None else [*waking, self._work(), self._keep_listening(), self._keep_reminding()]

    async def _keep_reminding(self) -> None:
        """Tell the engine again of jobs that it has forgotten."""
        while True:
            await asyncio.sleep(2 * self.parts.settings.heartbeat)
            try:
                await self.service.remind()
            except RekindleError as error:
                log.warning("whether the fleet's engine knows all jobs is not known: %s", error.message)

    async def _keep_waking(self) -> None:
        """Have the jobs driven whose sessions want an agent here, and have no lease.

        Whoever says something to a session tells the engine too, but may be killed before that, or find it away; and a
        drive may end before it has heard. What a session's facts say is still there then.
        """
        asked: dict[str, float] = {}
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now, leases = self.parts.leases.clock(), self.parts.leases
            for job in sorted(leases.wanted.difference(self.driving.driven)):
                if now - asked.get(job, -_ASK_AGAIN) < _ASK_AGAIN:
                    continue
                asked[job] = now
                try:
                    await self.service.wake_job(job)
                    leases.wanted.discard(job)
                except RekindleError as error:
                    log.warning("%s waits for the fleet's engine: %s", job, error.message)

    async def _client(self, *, lazy: bool = False) -> Any:
        from rekindle.adapters.temporal.connecting import connected

        assert self.parts.settings.temporal is not None
        return await connected(self.parts.settings.temporal, self.parts.settings.host, lazy=lazy)

    async def _check(self, client: Any) -> None:
        """Two engines would each give the same job to a host. Raises EngineError and StoreError."""
        from rekindle.adapters.temporal.connecting import namespace_id

        assert self.parts.settings.temporal is not None
        found = await namespace_id(client, self.parts.settings.temporal)
        await asyncio.to_thread(check_engine, self.agreed, found)

    async def _work(self) -> None:
        from rekindle.adapters.temporal.worker import TemporalWorker

        while True:
            try:
                client = await self._client()
                await self._check(client)
                self._worker = TemporalWorker(client, self.capacity(), self._queues)
                self.parts.telling.trouble = ""
                await self._worker.run(self.driving.drive)
            except (RekindleError, RuntimeError) as error:
                self._in_trouble(error.message if isinstance(error, RekindleError) else str(error))
            await asyncio.sleep(_LOOK_SECONDS)

    def _in_trouble(self, why: str) -> None:
        """No jobs are taken for now. The log gets that once; people and other hosts are told as long as it lasts."""
        if self.parts.telling.trouble != why:
            log.warning("no jobs are taken for now: %s", why)
        self.parts.telling.trouble = why

    async def _keep_listening(self) -> None:
        while True:
            try:
                await self._listen()
            except StoreError as error:
                log.warning("which jobs there are is not known: %s", error.message)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _listen(self) -> None:
        """Take jobs from every queue that this host fits. Until the store has said so, it is not known to be ready."""
        state = self.parts.telling.state
        self.driving.drain(state == "draining")
        known = await asyncio.to_thread(self.parts.jobs.queues) if state == "ready" else []
        self._repositories = tuple(await asyncio.to_thread(clones.kept, self.parts.clones))
        agents = _agents_here(self.parts.environment)
        self.parts.telling.agents, self.parts.telling.labels = tuple(agents), self.labels
        self._queues = frozenset(one for one in known if is_for(one, agents, self.labels))
        if self._worker is not None:
            await self._worker.listen_to(self._queues)


def _agents_here(environment: Mapping[str, str]) -> list[str]:
    """The agents whose programs are on this host."""
    return [name for name, kind in AGENTS.items() if not kind.program or agent_programs.path_of(kind, environment)]
