"""The HTTP door of a daemon, put together. What is heavy is imported when the door opens."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from rekindle.adapters.machine import ancestry
from rekindle.app.agent_resuming import AgentResuming
from rekindle.app.door_rooms import DoorRooms
from rekindle.app.opening import SessionOpening
from rekindle.app.queueing import Queueing
from rekindle.core.session.state import Session
from rekindle.doors.http.door import HttpDoor
from rekindle.doors.socket.operations import Operation
from rekindle.doors.socket.within import DaemonWithin
from rekindle.places import Places
from rekindle.ports.daemon import Daemon
from rekindle.runtime.supervisor import Supervisor

if TYPE_CHECKING:
    from rekindle.doors.http.house import HttpHouse
    from rekindle.doors.http.live import LiveChanges


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
) -> HttpDoor:
    """The door, closed. What opens and closes it is added to the daemon's operations."""
    from rekindle.adapters.http_door.door_files import DoorFiles
    from rekindle.adapters.http_door.kept_answers import AnswerFiles

    queueing = Queueing(rooms.service, rooms.supervisor)
    loop = asyncio.get_running_loop()

    def house(url: Callable[[], str]) -> HttpHouse:
        within = uses(DaemonWithin(offered, loop))
        return _house(rooms, queueing, places, environment, within, url, offered.get("fleet_status"))

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


def _house(
    rooms: DoorRooms,
    queueing: Queueing,
    places: Places,
    environment: Mapping[str, str],
    uses: Any,
    url: Callable[[], str],
    fleet: Operation | None,
) -> HttpHouse:
    from rekindle.adapters.session_folder.conversation import FolderConversations
    from rekindle.app.conversing import ConversationPages
    from rekindle.app.recoveries import CountedRecoveries
    from rekindle.doors.http.house import HttpHouse

    return HttpHouse(
        service=rooms.service,
        beginnings=rooms.beginnings,
        queueing=queueing,
        opening=SessionOpening(rooms.service),
        holding=rooms.holding,
        questions=rooms.questions,
        agents=AgentResuming(rooms.service),
        jobs=rooms.jobs,
        features=rooms.features,
        pages=ConversationPages(FolderConversations(places.sessions)),
        recoveries=CountedRecoveries(rooms.supervisor.engine.store),
        uses=uses,
        environment=dict(environment),
        state_dir=places.state,
        started_at=time.time(),
        url=url,
        fleet=fleet,
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
