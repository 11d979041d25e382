"""What a daemon of a fleet has beside that of one machine, put together. Nothing here is loaded without a fleet."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from rekindle.adapters.blobs.folder import FolderBlobs
from rekindle.adapters.blobs.sealed import SealedBlobs, key_mark, read_key
from rekindle.adapters.keepers.keeper_process import KeeperProcesses
from rekindle.adapters.keepers.local_runtime import LocalRuntime
from rekindle.adapters.machine.fleet_settings import FleetSettings
from rekindle.adapters.machine.fleet_terms import fit_in
from rekindle.adapters.off_host.clones import CLONES
from rekindle.adapters.off_host.ground import Ground
from rekindle.adapters.off_host.off_host import OffHost
from rekindle.adapters.off_host.ways import shared_place
from rekindle.adapters.sql_store.open import open_store
from rekindle.adapters.sql_store.postgres_feed import PostgresFeed
from rekindle.adapters.sql_store.shared_blobs import SharedBlobs
from rekindle.adapters.sql_store.shared_hosts import SharedHosts
from rekindle.adapters.sql_store.shared_jobs import SharedJobs
from rekindle.adapters.sql_store.shared_mail import CHANNEL, SharedMail
from rekindle.adapters.sql_store.shared_placements import SharedPlacements
from rekindle.adapters.sql_store.shared_terms import SharedTerms
from rekindle.adapters.sql_store.store import SqlStore
from rekindle.app.door_rooms import DoorRooms
from rekindle.app.elsewhere import Elsewhere
from rekindle.app.fleet_doors import FleetDoors
from rekindle.app.fleet_reading import FleetReading
from rekindle.app.host_forgetting import HostForgetting
from rekindle.app.mail_carrying import MailCarrying
from rekindle.app.mail_deeds import MailDeeds
from rekindle.app.mail_sending import MailSending
from rekindle.app.queueing import Queueing
from rekindle.app.takeovers import Takeovers
from rekindle.fleet_worker import EngineRoom, FleetParts, WorkerTerms
from rekindle.keeper import deadline
from rekindle.places import Places
from rekindle.ports.blobs import Blobs
from rekindle.ports.store import StoreAccess
from rekindle.runtime.driven_jobs import DrivenJobs
from rekindle.runtime.fleet_member import FleetMember
from rekindle.runtime.host_telling import HostTelling
from rekindle.runtime.leases import Leases

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fleet:
    """The shared store, and this host's name in it."""

    settings: FleetSettings
    url: sa.URL
    placements: SharedPlacements
    leases: Leases = field(default_factory=lambda: Leases(deadline.clock))

    @classmethod
    def of(cls, settings: FleetSettings) -> Fleet:
        """Reach the shared store. Raises UsageError and StoreError."""
        url, exposed = shared_place(settings)
        for one in exposed:
            log.warning("%s: %s", one.what, one.remedy)
        return cls(settings, url, SharedPlacements(url, settings.host))

    def open_store(self, parts: contextlib.AsyncExitStack, state: str) -> SqlStore:
        """This host's part of the store. `state` is its own folder. Raises UsageError if it does not fit in."""
        opened = open_store(self.url, now=datetime.now(UTC), host=self.settings.host)
        parts.callback(opened.store.close)
        parts.callback(self.placements.close)
        fit_in(self.agreed, self.settings, key_mark(read_key(self.settings.key_file)), state)
        return opened.store

    def agreed(self, name: str, value: str) -> bool:
        """Whether a value is what all hosts agree on. Raises StoreError."""
        with contextlib.closing(SharedTerms(self.url)) as terms:
            return terms.agreed(name, value)

    async def elsewhere(self, session: str) -> int | None:
        """The generation of a session that another host has; None if this host has it, or nobody."""
        found = await asyncio.to_thread(self.placements.find, session)
        return found.session.generation if found is not None and found.host != self.settings.host else None

    def member(
        self,
        parts: contextlib.AsyncExitStack,
        offered: dict[str, Any],
        places: Places,
        rooms: DoorRooms,
        environment: Mapping[str, str],
        *made: Any,
    ) -> FleetHouse:
        """What copies sessions off this host, takes others over, and carries messages to and fro.

        `offered` gets what a host can be asked for: more than one machine, and about the sessions of all hosts.
        `made` is what only the engine's part needs of the daemon: see `_engine_room`.
        """
        service, supervisor = rooms.service, rooms.supervisor
        kept: Blobs = SharedBlobs(self.url) if self.settings.blobs is None else FolderBlobs(self.settings.blobs)
        blobs = SealedBlobs(kept, read_key(self.settings.key_file))
        parts.callback(blobs.close)
        feed = PostgresFeed(self.url)
        parts.callback(feed.close)
        copies = OffHost(blobs, places.state, self.settings.host, self.settings.sources)
        member = FleetMember(supervisor, self.placements, copies, feed)
        parts.push_async_callback(member.close)
        hosts = SharedHosts(self.url, self.settings.host)
        parts.callback(hosts.close)
        places_of = (service, supervisor, self.placements, copies, hosts)
        takeovers = Takeovers(*places_of, dict(environment), supervisor.engine.clock)
        offered |= {"fleet_status": takeovers.status, "fleet_take_over": takeovers.take_over}
        offered["fleet_forget"] = HostForgetting(hosts, self.placements).forget
        telling = HostTelling(hosts, supervisor, LocalRuntime(places.sessions))
        offered["fleet_copy"] = FleetReading(self.placements, copies, supervisor.engine.clock).copy
        own = (os.path.join(places.state, CLONES), takeovers, member, telling, hosts)
        engine = self._engine_room(parts, offered, rooms, environment, made, *own)
        mail, doors = self._mail(parts, offered, rooms, hosts, environment, engine.service.wake)
        engine.driving.catch_up = mail.catch_up
        return FleetHouse(member, mail, telling, engine, doors)

    def _mail(
        self,
        parts: contextlib.AsyncExitStack,
        offered: dict[str, Any],
        rooms: DoorRooms,
        hosts: SharedHosts,
        environment: Mapping[str, str],
        wake: Callable[[str, str], Awaitable[None]],
    ) -> tuple[MailCarrying, FleetDoors]:
        """The messages between hosts, and the doors that lead to sessions of any host."""
        supervisor, host = rooms.supervisor, self.settings.host
        engine = supervisor.engine
        mailbox, feed = SharedMail(self.url, host), PostgresFeed(self.url, CHANNEL)
        parts.callback(mailbox.close)
        parts.callback(feed.close)
        sending = MailSending(mailbox, engine.clock, wake)
        queueing = Queueing(rooms.service, supervisor)
        deeds = MailDeeds(rooms.service, queueing, rooms.questions, rooms.holding, environment)
        carrying = MailCarrying(mailbox, feed, deeds, engine.store, sending, engine.clock)
        parts.push_async_callback(carrying.close)
        elsewhere = Elsewhere(self.placements, hosts, engine.clock)
        doors = FleetDoors(rooms.service, rooms.questions, engine, elsewhere, sending)
        doors.put_in(offered)
        return carrying, doors

    def ground(self, places: Places, environment: Mapping[str, str]) -> Ground:
        """Where sessions of the fleet's jobs begin on this host."""
        return Ground(places.state, self.settings.sources, environment)

    def _engine_room(
        self,
        parts: contextlib.AsyncExitStack,
        offered: dict[str, Any],
        rooms: DoorRooms,
        environment: Mapping[str, str],
        made: tuple[Any, ...],
        *own: Any,
    ) -> EngineRoom:
        """What submits the fleet's jobs, and drives them if this host is a worker."""
        worker: WorkerTerms | None
        access: StoreAccess
        keepers: KeeperProcesses
        driven: DrivenJobs
        worker, access, keepers, driven = made
        jobs = SharedJobs(self.url, self.settings.host)
        parts.callback(jobs.close)
        room = EngineRoom(
            FleetParts(
                *(self.settings, jobs, self.placements, access, rooms.supervisor, keepers, driven, self.leases),
                *(rooms.jobs, environment, *own),
            ),
            worker,
            self.agreed,
        )
        offered |= room.offered()
        return room


@dataclass(frozen=True)
class FleetHouse:
    """The parts that need attention while the daemon serves."""

    member: FleetMember
    mail: MailCarrying
    telling: HostTelling
    engine: EngineRoom
    doors: FleetDoors

    def chores(self) -> list[Coroutine[Any, Any, None]]:
        """The background work of a host of a fleet."""
        return [self.member.ship(), self.member.watch(), self.mail.run(), self.telling.run(), *self.engine.chores()]
