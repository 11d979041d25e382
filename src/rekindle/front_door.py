"""The HTTP door of a daemon, put together. What is heavy is imported when the door opens."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from rekindle.adapters.machine import ancestry
from rekindle.app.agent_resuming import AgentResuming
from rekindle.app.door_rooms import DoorRooms
from rekindle.app.queueing import Queueing
from rekindle.core.session.state import Session
from rekindle.doors.http.door import HttpDoor
from rekindle.doors.socket.operations import Operation
from rekindle.doors.socket.within import DaemonWithin
from rekindle.places import Places
from rekindle.ports.daemon import Daemon
from rekindle.runtime.supervisor import Supervisor

if TYPE_CHECKING:
    from rekindle.adapters.session_folder.conversation import FolderConversations
    from rekindle.app.anywhere import SessionsAnywhere
    from rekindle.app.conversing import ConversationPages
    from rekindle.doors.http.house import HttpHouse
    from rekindle.doors.http.live import LiveChanges
    from rekindle.fleet import FleetHouse


class HttpTerms(TypedDict, total=False):
    """How the door is to be opened; see `HttpDoor.open`."""

    address: str
    behind: list[str]
    cert: str
    key: str
    new_secret: bool


def front_door(
    rooms: DoorRooms,
    offered: dict[str, Operation],
    places: Places,
    environment: Mapping[str, str],
    uses: Callable[[Daemon], Any],
    fleet: Callable[[], FleetHouse | None],
) -> HttpDoor:
    """The door, closed. What opens and closes it is added to the daemon's operations.

    `fleet` is asked when the door opens: what it leads to is put together later.
    """
    from rekindle.adapters.http_door.door_files import DoorFiles
    from rekindle.adapters.http_door.kept_answers import AnswerFiles

    queueing = Queueing(rooms.service, rooms.supervisor)
    loop = asyncio.get_running_loop()

    def house(url: Callable[[], str]) -> HttpHouse:
        within = DaemonWithin(offered, loop)
        sides = Sides(rooms, queueing, offered, within, fleet())
        return _house(sides, places, environment, uses(within), url)

    papers = DoorFiles(os.path.join(places.runtime, "http"))
    kept = AnswerFiles(os.path.join(places.state, "http-answers"))
    door = HttpDoor(house, lambda changes: _connect(rooms.supervisor, changes), papers, kept, _bind, _is_inside)
    offered["http_open"] = door.open
    offered["http_link"] = door.link
    offered["http_close"] = door.close_for_good
    offered["queue"] = queueing.shown
    offered["queue_edit"] = queueing.edit
    offered["queue_withdraw"] = queueing.withdraw
    offered["queue_reorder"] = queueing.reorder
    return door


@dataclass(frozen=True)
class Sides:
    """This host's rooms, and those that its fleet has, if it is in one."""

    rooms: DoorRooms
    queueing: Queueing
    offered: dict[str, Operation]
    within: Daemon
    fleet: FleetHouse | None

    def sessions(self, conversations: FolderConversations, pages: ConversationPages) -> SessionsAnywhere:
        """The sessions that the page can open."""
        from rekindle.app.anywhere import OwnSessions

        rooms = self.rooms
        own = OwnSessions(rooms.service, self.queueing, rooms.questions, rooms.holding, pages)
        if self.fleet is None:
            return own
        from rekindle.adapters.off_host.copied_conversations import CopiedConversations
        from rekindle.app.conversing import ConversationPages
        from rekindle.app.fleet_sessions import FleetSessions

        copied = ConversationPages(CopiedConversations(conversations, self.within))
        return FleetSessions(own, self.fleet.doors, copied)


def _house(
    sides: Sides, places: Places, environment: Mapping[str, str], uses: Any, url: Callable[[], str]
) -> HttpHouse:
    from rekindle.adapters.session_folder.conversation import FolderConversations
    from rekindle.app.conversing import ConversationPages
    from rekindle.app.recoveries import CountedRecoveries
    from rekindle.doors.http.house import HttpHouse

    rooms, fleet = sides.rooms, sides.fleet
    conversations = FolderConversations(places.sessions)
    pages = ConversationPages(conversations)
    return HttpHouse(
        service=rooms.service,
        sessions=sides.sessions(conversations, pages),
        queueing=sides.queueing,
        agents=AgentResuming(rooms.service),
        jobs=rooms.jobs if fleet is None else fleet.engine.service,
        features=rooms.features,
        pages=pages,
        recoveries=CountedRecoveries(rooms.supervisor.engine.store),
        uses=uses,
        environment=dict(environment),
        state_dir=places.state,
        started_at=time.time(),
        url=url,
        fleet=sides.offered.get("fleet_status"),
    )


async def _is_inside(client: tuple[str, int], server: tuple[str, int]) -> bool:
    from rekindle.adapters.http_door import tcp_peers

    return await asyncio.to_thread(tcp_peers.is_inside, client, server, ancestry, os.getpid())


def _bind(address: str, port: int, earlier: int) -> socket.socket:
    from rekindle.adapters.http_door import tcp_peers

    return tcp_peers.bound(address, port, earlier=earlier)


def _connect(supervisor: Supervisor, changes: LiveChanges) -> Callable[[], None]:
    """Tell somebody what happens; returns how to stop that."""

    def recorded(session: Session, _facts: object) -> None:
        changes.recorded(session.id)

    supervisor.engine.listeners.append(recorded)
    supervisor.heard.append(changes.heard)

    def disconnect() -> None:
        supervisor.engine.listeners.remove(recorded)
        supervisor.heard.remove(changes.heard)

    return disconnect
