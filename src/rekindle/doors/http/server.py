"""The HTTP server in the daemon's own loop. It takes no signal, starts no process and has no loop of its own.

Slow clients are cut off before their request reaches the application: uvicorn itself waits for headers as long as it
takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from rekindle.doors.http.guard import LONGEST_BODY
from rekindle.doors.http.names import DoorPlace

#: How long the head of a request may take, and how long a connection stays open between two requests.
HEAD_SECONDS, IDLE_SECONDS = 10.0, 65
#: How many connections there may be at once, and what part of the daemon's descriptors they may take: the rest is for
#: sessions, which come first.
MOST_CONNECTIONS, _PART = 500, 4
#: How long a message may be from somebody who has not shown the secret yet.
LONGEST_GREETING = 4096
#: How long an answer that is being sent may take when the door closes.
_CLOSE_SECONDS = 2.0


class Connections:
    """The connections that there are. If there are too many, one that has not shown the secret gives way.

    So nobody without the secret keeps those out who have it, and nobody takes the descriptors that sessions need.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._there: dict[asyncio.Transport, dict[str, Any]] = {}

    def enter(self, transport: asyncio.Transport, known: dict[str, Any]) -> None:
        """Count a connection; `known` is what the guard finds out about it."""
        self._there[transport] = known
        if len(self._there) <= self._most:
            return
        self._there = {one: about for one, about in self._there.items() if not one.is_closing()}
        if len(self._there) > self._most:
            given_up = next((one for one, about in self._there.items() if not about.get("admitted")), transport)
            del self._there[given_up]
            given_up.abort()


def most_connections() -> int:
    """How many connections the descriptors of this process allow."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else max(8, min(MOST_CONNECTIONS, soft // _PART))


class PatientProtocol(H11Protocol):
    """One connection. It is closed if the head of a request does not come in time."""

    def __init__(self, *args: Any, there: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting: asyncio.TimerHandle | None = None
        self._there = there
        self.app_state = {**self.app_state, "connection": {}}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state["connection"]["abort"] = transport.abort
        self._there.enter(transport, self.app_state["connection"])
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and data:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


class ShySocket(WebSocketsSansIOProtocol):
    """One WebSocket. It listens to long messages only from those who have shown the secret."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn.max_message_size = LONGEST_GREETING
        self.app_state.get("connection", {})["listen"] = self._listen

    def _listen(self) -> None:
        self.conn.max_message_size = LONGEST_BODY


class HttpServer:
    """Serves one application on one socket."""

    def __init__(self, app: Any, place: DoorPlace) -> None:
        self._config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            http=PatientProtocol,
            ws=ShySocket,
            ws_max_size=LONGEST_BODY,
            ws_ping_interval=20.0,
            ws_ping_timeout=20.0,
            ws_per_message_deflate=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=IDLE_SECONDS,
            h11_max_incomplete_event_size=32 << 10,
            ssl_certfile=place.cert or None,
            ssl_keyfile=place.key or None,
        )
        self._state = ServerState()
        self._server: asyncio.Server | None = None

    async def open(self, listening: socket.socket) -> None:
        """Start serving. Raises OSError or ssl.SSLError for a certificate that cannot be used."""
        self._config.load()

        there = Connections(most_connections())

        def connected() -> PatientProtocol:
            return PatientProtocol(config=self._config, server_state=self._state, app_state={}, there=there)

        loop = asyncio.get_running_loop()
        patience = HEAD_SECONDS if self._config.ssl is not None else None
        self._server = await loop.create_server(
            connected, sock=listening, ssl=self._config.ssl, ssl_handshake_timeout=patience
        )

    @property
    def connections(self) -> int:
        """How many there are now."""
        return len(self._state.connections)

    async def close(self) -> None:
        """Stop serving: answers that are being made are finished, for a moment."""
        if self._server is None:
            return
        self._server.close()
        for one in list(self._state.connections):
            one.shutdown()
        deadline = asyncio.get_running_loop().time() + _CLOSE_SECONDS
        while self._state.tasks and asyncio.get_running_loop().time() < deadline:
            await asyncio.wait(list(self._state.tasks), timeout=_CLOSE_SECONDS)
        for task in list(self._state.tasks):
            task.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._server.wait_closed()
