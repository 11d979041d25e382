"""The daemon process: one per store. Sets up store, keepers, supervisor and socket, and closes them again.

Stopping it leaves every agent in its keeper; the next daemon continues where this one left off.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from rekindle import __version__
from rekindle.adapters.git import identity, linked_worktrees, repository
from rekindle.adapters.keepers.keeper_process import KeeperProcesses
from rekindle.adapters.keepers.scopes import scopes_here
from rekindle.adapters.keepers.session_terminals import SessionTerminals
from rekindle.adapters.keepers.tmux import Terminals
from rekindle.adapters.machine import agent_programs, ancestry, commands, daemon_log, hook_script, steady_clock, team
from rekindle.adapters.machine.cron_calendar import CronCalendar
from rekindle.adapters.machine.daemon_presence import say_ready, take_lock
from rekindle.adapters.machine.governor_settings import GovernorSettings
from rekindle.adapters.machine.job_folders import JobFolders
from rekindle.adapters.machine.load import ThisMachinesLoad
from rekindle.adapters.session_folder.conversation import FolderConversations
from rekindle.adapters.session_folder.records import VaultRecords
from rekindle.adapters.skill_folder.conversation_notes import ConversationNotes
from rekindle.adapters.skill_folder.folders import SkillFoldersHere
from rekindle.adapters.skill_folder.supervised import SupervisedSkillsHere
from rekindle.adapters.snapshots.tree_snapshots import TreeSnapshots
from rekindle.adapters.sql_store.kept_streams import KeptStreams
from rekindle.adapters.vault import relocating
from rekindle.adapters.workplace.workplace import LocalWorkplace
from rekindle.adapters.workspace.git_workspace import GitWorkspace, open_workspace
from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.app.beginnings import Beginnings
from rekindle.app.door_rooms import DoorRooms
from rekindle.app.feature_inbox import FeatureInbox
from rekindle.app.features import FeaturePorts, Features
from rekindle.app.holding import Holding
from rekindle.app.jobs import JobBeginnings, JobService
from rekindle.app.journals import JournalWriters
from rekindle.app.questions import Questions
from rekindle.app.relocation import Relocations
from rekindle.app.service import Service
from rekindle.app.skill_inbox import SkillInbox
from rekindle.core.daemon_lives import SUBJECT, DaemonBegan, DaemonLeft
from rekindle.core.governor.asking import news_of
from rekindle.core.session.activity import needs_daemon
from rekindle.core.session.rules import BUILT_IN
from rekindle.core.streams import MACHINE
from rekindle.doors.http.door import HttpDoor, OpenDoor
from rekindle.doors.socket.hook_door import HookDoor
from rekindle.doors.socket.operations import operations
from rekindle.doors.socket.server import Server
from rekindle.front_door import HttpTerms, front_door
from rekindle.places import Places
from rekindle.ports.daemon import Daemon
from rekindle.ports.store import StoreAccess, StoreChange, StoreError
from rekindle.runtime.clock import keep_time
from rekindle.runtime.daily_report import DailyReport
from rekindle.runtime.driven_jobs import DrivenJobs
from rekindle.runtime.engine import Engine
from rekindle.runtime.outbox import Outbox
from rekindle.runtime.store_thread import StoreThread
from rekindle.runtime.supervisor import Supervisor
from rekindle.runtime.telling import Teller
from rekindle.runtime.terminals import listen
from rekindle.runtime.time_machine import TimeMachine
from rekindle.settings import load, user_file
from rekindle.store_start import fleet_here, opened_store, sweep
from rekindle.telling import daily_report, teller_of, telling_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rekindle.fleet import Fleet, FleetHouse
    from rekindle.fleet_worker import WorkerTerms

log = logging.getLogger("rekindle.daemon")
#: How long a daemon that was started on demand stays when nobody needs it.
IDLE_EXIT_SECONDS = 900.0
#: The longest pause after a fault of its own. The pauses start over once it has run this long without one.
_LONGEST_PAUSE = 60.0


@dataclass(frozen=True)
class DaemonTerms:
    """How a daemon is started. `uses` makes the use cases that clients have, for its HTTP door.

    `http`: open that door at once, and call `opened` with it. `worker`: also drive jobs of the fleet.
    """

    uses: Callable[[Daemon], Any]
    on_demand: bool = False
    http: HttpTerms | None = None
    worker: WorkerTerms | None = None
    opened: Callable[[OpenDoor], None] = lambda _door: None


def serve(environment: Mapping[str, str], terms: DaemonTerms) -> int:
    """Run the daemon until it is told to stop. Raises OwnedError if this store has one already."""
    places = Places(load(environment, None))
    places.make()
    lock = take_lock(places)
    daemon_log.write(places.daemon_log if terms.on_demand else None)
    try:
        _serve_over_faults(places, environment, lock, terms)
    finally:
        os.close(lock)
    return 0


def _serve_over_faults(places: Places, environment: Mapping[str, str], lock: int, terms: DaemonTerms) -> None:
    """Handle an unexpected fault as if the daemon had been killed: start over from what is on disk.

    A fault during the first start is raised: the caller who started the daemon is still there to see it.
    """
    pause, ready = 1.0, threading.Event()
    while True:
        begun = time.monotonic()
        try:
            if asyncio.run(_serve(places, environment, lock, ready, terms)):
                return
        except Exception:
            if not ready.is_set():
                raise
            log.exception("the daemon has ended with a fault")
        pause = 1.0 if time.monotonic() - begun > _LONGEST_PAUSE else min(2 * pause, _LONGEST_PAUSE)
        log.error("restarting after a fault, in %g s", pause)
        time.sleep(pause)


async def _serve(
    places: Places, environment: Mapping[str, str], lock: int, ready: threading.Event, terms: DaemonTerms
) -> bool:
    """Serve until it is time to leave, then release everything. False: something failed that should not have."""
    async with contextlib.AsyncExitStack() as parts:
        return await _serve_with(parts, places, environment, lock, ready, terms)


async def _serve_with(
    parts: contextlib.AsyncExitStack,
    places: Places,
    environment: Mapping[str, str],
    lock: int,
    ready: threading.Event,
    terms: DaemonTerms,
) -> bool:
    fleet = fleet_here(environment)
    thread = StoreThread(opened_store(parts, places) if fleet is None else fleet.open_store(parts, places.state))
    parts.push_async_callback(thread.close)
    access = KeptStreams(thread, places.streams) if fleet is None else thread
    life = _Life(access)
    await life.begin()
    parts.push_async_callback(life.end)
    house = _put_together(parts, access, places, environment, terms, fleet)
    parts.push_async_callback(lambda: house.door.close(for_good=life.is_well))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, house.server.stopping.set)
    await house.supervisor.engine.open()
    await house.inbox.open()
    await house.time_machine.begin()
    await house.server.open()  # lists are answered while hundreds of sessions are taken up; other requests wait
    say_ready()
    await house.supervisor.start()  # agents are restarted while we already answer
    await house.jobs.open()
    house.server.is_ready.set()
    if terms.http is not None:
        terms.opened(await house.door.open(**terms.http))
    else:
        await house.door.reopen()
    ready.set()
    log.info("serving %s as pid %d", places.state, os.getpid())
    chores = [
        *house.chores(),
        _stay_reachable(house.server, places, lock),
        *([_leave_when_idle(house)] if terms.on_demand else []),
    ]
    life.is_well = await _until_over(house, [asyncio.ensure_future(chore) for chore in chores])
    return life.is_well


@dataclass
class _Life:
    """Records that this daemon is serving and, as its last act, that it exited cleanly. A killed daemon cannot."""

    access: StoreAccess
    is_well: bool = False

    async def begin(self) -> None:
        began = DaemonBegan(at=time.time(), pid=os.getpid(), version=__version__)
        await self.access.commit(StoreChange(MACHINE.kind, SUBJECT, [began]))

    async def end(self) -> None:
        if self.is_well:
            left = DaemonLeft(at=time.time(), pid=os.getpid())
            with contextlib.suppress(StoreError):
                await self.access.commit(StoreChange(MACHINE.kind, SUBJECT, [left]))


@dataclass(frozen=True)
class _House:
    """The parts of a daemon that need attention while it serves."""

    access: StoreAccess
    records: VaultRecords
    supervisor: Supervisor
    time_machine: TimeMachine
    outbox: Outbox
    features: Features
    server: Server
    teller: Teller
    jobs: DrivenJobs
    inbox: FeatureInbox
    places: Places
    daily: DailyReport
    hook_door: HookDoor
    door: HttpDoor
    member: FleetHouse | None = None

    def chores(self) -> list[Coroutine[Any, Any, None]]:
        """The background work while the daemon serves."""
        return [
            self.outbox.deliver(),
            self.time_machine.look_around(),
            self.time_machine.let_go(),
            self.records.run(),
            keep_time(self.supervisor),
            self.supervisor.governing.keep_watch(),
            listen(self.supervisor),
            self.teller.run(),
            self.daily.run(),
            self.jobs.keep_time(),
            self.inbox.attend(),
            sweep(self.places.sessions),
            self.hook_door.attend(),
            _stay_in_place(self.access),
            *(self.member.chores() if self.member is not None else ()),
        ]


def _supervisor(
    access: StoreAccess, places: Places, environment: Mapping[str, str], fleet: Fleet | None
) -> tuple[Supervisor, KeeperProcesses, LocalWorkplace, VaultRecords]:
    """Who owns the agents, with the keepers, the folders and the records that they have."""
    scopes = scopes_here(environment)
    keepers = KeeperProcesses(places.sessions, places.sockets, terminals=Terminals(places.terminals), scopes=scopes)
    workplace = LocalWorkplace(places.sessions, places.sockets)
    records = VaultRecords.of(places.sessions, workplace.environment, AGENTS)
    rules = replace(BUILT_IN, idle_seconds=_idle_seconds(environment))
    governor = GovernorSettings(user_file(environment))
    engine = Engine(access, time.time, rules, steady_clock.now)
    notes = ConversationNotes.here(places.state, environment, time.time)
    limits, seen = governor.rules, ThisMachinesLoad().reading
    shared: dict[str, Any] = {"elsewhere": fleet.elsewhere, "leases": fleet.leases} if fleet is not None else {}
    supervisor = Supervisor(
        engine, keepers, workplace, AGENTS, records, governor_rules=limits, load=seen, notes=notes, **shared
    )
    return supervisor, keepers, workplace, records


def _put_together(
    parts: contextlib.AsyncExitStack,
    access: StoreAccess,
    places: Places,
    environment: Mapping[str, str],
    terms: DaemonTerms,
    fleet: Fleet | None,
) -> _House:
    """The composition root of the daemon. Everything opened here is closed with `parts`."""
    supervisor, keepers, workplace, records = _supervisor(access, places, environment, fleet)
    engine = supervisor.engine
    parts.callback(records.close)
    parts.enter_context(keepers.nursery())
    time_machine = TimeMachine(supervisor.engine, TreeSnapshots(places.sessions))
    parts.push_async_callback(time_machine.close)
    parts.push_async_callback(supervisor.close)
    folders = SkillFoldersHere("", places.state, environment, time.time)
    skills = SupervisedSkillsHere(places.state, folders.read)
    service = Service(supervisor, access, AGENTS, places=workplace, stopped_keeper=keepers.stopped, skills=skills)

    def open_here(cwd: str) -> GitWorkspace:
        return open_workspace(environment, cwd)

    journals = JournalWriters(lambda cwd, feature: open_here(cwd).writable(feature))
    parts.callback(journals.close)
    relocations = Relocations(supervisor, open_here, repository.find, identity, relocating, workplace)
    terminals = SessionTerminals(places.terminals, places.sessions)
    beginnings = Beginnings(service, supervisor, workplace, linked_worktrees, terminals, AGENTS, relocations.known_as)
    outbox = Outbox(access, journals, engine.where)
    told = telling_terms(environment)
    teller = teller_of(access, engine, told, environment, places)
    parts.push_async_callback(teller.close)
    engine.listeners += [outbox.heard, teller.heard]
    supervisor.governing.listeners.append(lambda state: teller.put("governor", news_of(state)))
    tools = (commands, FolderConversations(places.sessions), team, AGENTS, agent_programs.path_of, DEFAULT)
    ports = FeaturePorts(supervisor, journals, outbox, open_here, relocations.arrive, workplace, *tools)
    features = Features(ports)
    parts.push_async_callback(features.close)
    holding, kept, calendar = Holding(service, supervisor), JobFolders(places.jobs), CronCalendar(environment.get("TZ"))
    starts = JobBeginnings(beginnings, kept, fleet.ground(places, environment) if fleet is not None else None)
    jobs = DrivenJobs(supervisor, access, starts.begin, calendar, equip=starts.equip)
    parts.push_async_callback(jobs.close)
    job_service = JobService(jobs, kept, calendar, AGENTS)
    inbox = FeatureInbox(features, access, open_here, supervisor.engine.clock, environment, teller.put)
    parts.push_async_callback(inbox.close)
    questions = Questions(supervisor, inbox, SkillInbox(folders, folders.asking()))
    offered = operations(service, beginnings, questions, journals, features, relocations, holding, job_service)
    rooms = DoorRooms(service, supervisor, beginnings, questions, features, holding, job_service)
    front = front_door(rooms, offered, places, environment, terms.uses, lambda: member)
    made = (environment, terms.worker, access, keepers, jobs)
    member = fleet.member(parts, offered, places, rooms, *made) if fleet is not None else None
    server = Server(service, offered, places.socket, ancestry)
    parts.push_async_callback(server.close)
    daily = daily_report(teller, engine, told, environment, places)
    door = HookDoor(places.hook_socket, places.hook_name, ancestry, hook_script)
    parts.push_async_callback(door.close)
    return _House(
        *(access, records, supervisor, time_machine, outbox, features, server, teller, jobs, inbox, places, daily),
        *(door, front, member),
    )


async def _until_over(house: _House, chores: list[asyncio.Task[None]]) -> bool:
    """Wait until it is time to leave; False: a chore failed, or the supervisor is broken."""
    server, supervisor = house.server, house.supervisor
    events = (server.stopping, supervisor.superseded, supervisor.broken)
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    ended, _ = await asyncio.wait([*chores, *waits], return_when=asyncio.FIRST_COMPLETED)
    for chore in ended.intersection(chores):
        if (failure := chore.exception()) is not None:
            log.error("a background job of the daemon failed", exc_info=failure)
    is_well = server.stopping.is_set() or supervisor.superseded.is_set()
    log.info("stopping; agents keep working in their keepers")
    for task in (*chores, *waits):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
    return is_well


def _idle_seconds(environment: Mapping[str, str]) -> float:
    try:
        return float(environment.get("REKINDLE_IDLE_SECONDS") or 600.0)
    except ValueError:
        return 600.0


async def _stay_reachable(server: Server, places: Places, lock: int) -> None:
    """Listen again if the socket was removed. Exit if the lock was removed: then we no longer own the store."""
    while True:
        await asyncio.sleep(2.0)
        if not os.path.exists(places.socket):
            with contextlib.suppress(OSError):
                places.make()
                await server.open()
        try:
            ours = os.stat(places.daemon_lock).st_ino == os.fstat(lock).st_ino
        except FileNotFoundError:
            ours = False
        if not ours:
            log.error("the lock of this daemon was removed; leaving")
            server.stopping.set()


async def _stay_in_place(access: StoreAccess) -> None:
    """Put the store back if it was removed, even while nothing is written to it."""
    while True:
        await asyncio.sleep(1.0)
        with contextlib.suppress(StoreError):  # the next write reports it
            await access.ask(lambda store: store.stay_in_place())


async def _leave_when_idle(house: _House) -> None:
    """A session that waits for a timer or a restart needs the daemon just as a live agent does.

    So does somebody who is still to be told something, after quiet hours or every day.
    """
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < IDLE_EXIT_SECONDS:
        await asyncio.sleep(5.0)
        waited_for = any(needs_daemon(session) for session in house.supervisor.engine.at_hand())
        others = (house.features.is_busy, house.teller.is_busy, house.jobs.is_busy, house.daily.is_wanted)
        if house.server.clients or house.door.is_open or any(others) or waited_for:
            quiet_since = time.monotonic()
    house.server.stopping.set()
