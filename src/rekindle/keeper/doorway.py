"""The keeper's socket: who is let in, whole frames in, answers out, never waiting for any client.

The folder is 0700, the socket 0600, and the kernel gives the peer's uid. Garbage closes the
client that sent it and nobody else. If the socket file is deleted, it is made again. This module does not know what
the operations mean: `answer` is passed in.
"""

import contextlib
import os
import select
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from rekindle.keeper.errors import FrameError
from rekindle.keeper.frames import Decoder, Frame, Header, encode
from rekindle.keeper.refusals import Code, refusal, to_header

_MOST_CLIENTS = 64
_MOST_UNSENT = 1 << 20
_AT_ONCE = 256 * 1024
_CREDENTIALS = struct.Struct("3i")


@dataclass
class Caller:
    """What is remembered of a client: whether it said hello, and its generation (None: observer)."""

    greeted: bool = False
    generation: int | None = None


@dataclass
class _Connection:
    socket: socket.socket
    caller: Caller = field(default_factory=Caller)
    decoder: Decoder = field(default_factory=Decoder)
    unsent: bytearray = field(default_factory=bytearray)


class Doorway:
    def __init__(self, path: str, epoll: select.epoll, answer: Callable[[Caller, Frame], Header]) -> None:
        self._path = path
        self._epoll = epoll
        self._answer = answer
        self._clients: dict[int, _Connection] = {}
        self._listener: socket.socket | None = None
        self._inode = -1

    def open(self) -> None:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.setblocking(False)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        before = os.umask(0o177)  # the agent inherits ours, so it is put back at once
        try:
            listener.bind(self._path)
        finally:
            os.umask(before)
        listener.listen(64)
        self._inode = os.stat(self._path).st_ino
        self._epoll.register(listener, select.EPOLLIN)
        self._listener = listener

    def repair(self) -> None:
        """Make the socket again if its file is gone or replaced; connected clients stay."""
        try:
            if os.stat(self._path).st_ino == self._inode:
                return
        except OSError:
            pass
        if self._listener is not None:
            self._epoll.unregister(self._listener)
            self._listener.close()
            self._listener = None
        with contextlib.suppress(OSError):  # retried at the next tick
            self.open()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            if os.stat(self._path).st_ino == self._inode:
                os.unlink(self._path)
        for connection in list(self._clients.values()):
            self._drop(connection)

    def ready(self, fd: int, events: int) -> bool:
        """Handle an event; False if the descriptor is not one of ours."""
        if self._listener is not None and fd == self._listener.fileno():
            self._admit(self._listener)
            return True
        connection = self._clients.get(fd)
        if connection is None:
            return False
        if events & select.EPOLLIN:
            self._receive(connection)
        elif events & (select.EPOLLHUP | select.EPOLLERR):
            self._drop(connection)
        if events & select.EPOLLOUT and fd in self._clients:
            self._flush(connection)
        return True

    def _admit(self, listener: socket.socket) -> None:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        client.setblocking(False)
        raw = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, uid, _ = _CREDENTIALS.unpack(raw)
        if uid != os.geteuid() or len(self._clients) >= _MOST_CLIENTS:
            no = refusal(Code.FOREIGN_UID, f"This keeper belongs to uid {os.geteuid()}, not to {uid}.")
            with contextlib.suppress(OSError):
                if uid != os.geteuid():
                    client.send(encode(Frame(to_header(no))))
            client.close()
            return
        self._clients[client.fileno()] = _Connection(client)
        self._epoll.register(client, select.EPOLLIN)

    def _receive(self, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(connection)
            return
        connection.decoder.feed(data)
        try:
            while (frame := connection.decoder.next_frame()) is not None:
                answer = self._answer(connection.caller, frame)
                connection.unsent += encode(Frame({**answer, "re": frame.header.get("seq")}))
        except FrameError as error:
            connection.unsent += encode(Frame(to_header(refusal(Code.BAD_FRAME, str(error)))))
            self._flush(connection)
            self._drop(connection)
            return
        self._flush(connection)

    def _flush(self, connection: _Connection) -> None:
        fd = connection.socket.fileno()
        if fd not in self._clients:
            return
        try:
            while connection.unsent:
                del connection.unsent[: connection.socket.send(connection.unsent)]
        except BlockingIOError:
            if len(connection.unsent) > _MOST_UNSENT:
                self._drop(connection)
                return
        except OSError:
            self._drop(connection)
            return
        self._epoll.modify(fd, select.EPOLLIN | (select.EPOLLOUT if connection.unsent else 0))

    def _drop(self, connection: _Connection) -> None:
        fd = connection.socket.fileno()
        if self._clients.pop(fd, None) is not None:
            self._epoll.unregister(fd)
            connection.socket.close()
