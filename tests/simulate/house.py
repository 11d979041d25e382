"""A daemon of a simulation: the real engine, supervisor, attendants, clock and use cases over the edges of the world.

It has a loop of its own. Killing it is dropping the loop with everything that is in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.app.beginnings import Beginnings
from rekindle.app.feature_resume import FeatureOutlook
from rekindle.app.features import FeaturePorts, Features
from rekindle.app.holding import Holding
from rekindle.app.jobs import JobBeginnings, JobService
from rekindle.app.journals import JournalWriters
from rekindle.app.questions import Questions
from rekindle.app.service import Service
from rekindle.core.feature.staffing import RunTerms
from rekindle.ports.errors import RekindleError
from rekindle.ports.store import OutboxEntry
from rekindle.runtime.clock import keep_time
from rekindle.runtime.engine import Engine
from rekindle.runtime.jobs import Jobs
from rekindle.runtime.outbox import Outbox
from rekindle.runtime.supervisor import Supervisor
from tests.fakes.calendar import HourlyCalendar
from tests.fakes.records import FakeRecords
from tests.fakes.store import Disk, PacedAccess
from tests.simulate.edges import NoTeams, OneFolder, OneRepository, SimulatedPlace, SimulatedStore
from tests.simulate.simulated_keepers import SimulatedKeepers
from tests.simulate.virtual import VirtualLoop
from tests.simulate.worktrees import SimulatedWorkspace
from tests.simulate.world import SimulatedWorld

AGENT = "scripted"
KINDS = {AGENT: AgentKind(AGENT, "Agent", lambda _start: ("agent",), AcpDialect, compact="/compact")}
#: The daemon looks around every second; nothing here needs it more often than this.
_LOOK_SECONDS = 9.0


@dataclass
class Request:
    """Something that a client asks of a daemon. `lost`: the daemon died before it answered."""

    what: str
    ask: Callable[[House], Coroutine[Any, Any, Any]]
    state: str = "waiting"
    reply: Any = None
    error: RekindleError | None = None


@dataclass
class House:
    """One daemon, from its start to its end."""

    world: SimulatedWorld
    disk: Disk
    number: int
    requests: list[Request] = field(default_factory=list)
    is_ready: bool = False
    is_over: bool = False
    faults: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.loop = VirtualLoop(self.world.time)
        self.keepers = SimulatedKeepers(self.world)
        self.place = SimulatedPlace(self.world)
        self.store = SimulatedStore(self.world, self.disk)
        for session in self.store.named(""):
            self.place.spools[session] = {}
        access = PacedAccess(self.store, self.store.seconds)
        world = self.world
        self.engine = Engine(access, world.clock, steady=lambda: world.time.now)
        self.supervisor = Supervisor(
            self.engine,
            self.keepers,
            self.place,
            KINDS,
            FakeRecords(),
            pause_seconds=3.0,
            governor_rules=lambda: world.governor_rules,
        )
        self.service = Service(self.supervisor, access, KINDS, places=self.place)
        self.questions = Questions(self.supervisor)
        folder = OneFolder()
        self.beginnings = Beginnings(self.service, self.supervisor, self.place, folder, folder, KINDS, _no_id)
        self.features = self._features(access)
        self.holding = Holding(self.service, self.supervisor)
        self._jobs(access)
        self._ready = asyncio.Event()
        self.loop.create_task(self._live())

    def _features(self, access: PacedAccess) -> Features:
        engine, world = self.engine, self.world
        journals = LateJournals(world, lambda _cwd, feature: self.here().writable(feature))
        self.outbox = Outbox(access, journals, engine.where)
        engine.listeners.append(self.outbox.heard)
        return Features(
            FeaturePorts(
                self.supervisor,
                journals,
                self.outbox,
                lambda _cwd: self.here(),
                _arrive,
                self.place,
                world.worktrees,
                self.place,
                NoTeams(),
                KINDS,
                lambda _kind, _env: "agent",
                AGENT,
                world.new_sid,
            )
        )

    def _jobs(self, access: PacedAccess) -> None:
        places, calendar = self.world.job_places, HourlyCalendar()
        starts = JobBeginnings(self.beginnings, places)
        self.jobs = Jobs(self.supervisor, access, starts.begin, calendar, equip=starts.equip)
        self.job_service = JobService(self.jobs, places, calendar, KINDS)

    def here(self) -> SimulatedWorkspace:
        """The repository, as this daemon opens it."""
        return SimulatedWorkspace(self.world.worktrees, self.number)

    async def _live(self) -> None:
        try:
            await self.engine.open()
            await self.supervisor.start()
            await self.jobs.open()
        except RekindleError as error:
            self.world.tell(f"daemon {self.number} cannot start: {error.message}")
            self.is_over = True
            return
        except Exception as error:
            self.faults.append(error)
            self.is_over = True
            return
        self.is_ready = True
        self._ready.set()
        chores = [
            asyncio.ensure_future(chore)
            for chore in (
                keep_time(self.supervisor, _LOOK_SECONDS),
                self.supervisor.governing.keep_watch(_LOOK_SECONDS),
                self.outbox.deliver(_LOOK_SECONDS) if self.world.has_plans else _never(),
                self.jobs.keep_time(_LOOK_SECONDS) if self.world.has_jobs else _never(),
            )
        ]
        events = [self.supervisor.superseded, self.supervisor.broken]
        waits = [asyncio.ensure_future(event.wait()) for event in events]
        await asyncio.wait([*chores, *waits], return_when=asyncio.FIRST_COMPLETED)
        for one in chores:
            if one.done() and (failure := one.exception()) is not None:
                self.faults.append(failure)
        if self.supervisor.fault is not None:
            self.faults.append(self.supervisor.fault)
        self.is_over = True

    def ask(self, request: Request) -> None:
        """Have a client ask for something; the answer comes when it comes."""
        self.requests.append(request)
        self.loop.create_task(self._serve(request))

    async def _serve(self, request: Request) -> None:
        await self._ready.wait()
        try:
            request.reply = await request.ask(self)
            request.state = "answered"
        except RekindleError as error:
            request.state, request.error = "refused", error
        except Exception as error:
            request.state = "broken"
            self.faults.append(error)

    def stop(self) -> None:
        """Tell it to leave in good order."""
        self.loop.create_task(self._leave())

    async def _leave(self) -> None:
        await self.features.close()
        await self.jobs.close()
        await self.supervisor.close()
        self.is_over = True

    def kill(self) -> None:
        """kill -9, or the end of it after it has left."""
        self.keepers.is_dead = True
        for request in self.requests:
            if request.state == "waiting":
                request.state = "lost"
        self.is_over = True
        self.loop.abandon()
        self.world.worktrees.shelf.end(self.number)


class LateJournals(JournalWriters):
    """What comes from the outbox may be late."""

    def __init__(self, world: SimulatedWorld, open_journal: Callable[[str, str], Any]) -> None:
        super().__init__(open_journal)
        self._world = world

    async def append_late(self, entry: OutboxEntry) -> None:
        if self._world.post_seconds:
            await asyncio.sleep(self._world.post_seconds)
        await super().append_late(entry)


OUTLOOK = FeatureOutlook(OneRepository(), NoTeams(), RunTerms, RunTerms(AGENT, "ask"))


async def _arrive(_here: object) -> tuple[str, list[str]]:
    return OneRepository.ID, []


async def _never() -> None:
    await asyncio.Event().wait()


async def _no_id(_repository: str | None) -> str | None:
    return None
