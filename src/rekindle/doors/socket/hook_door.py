"""The daemon's hook socket: carries out the hook calls of agents, so that none of them starts an interpreter.

Its client is a perl program (`hooks/rekindle-hook-direct`). A request is a line with the call's name and length, one
line per variable of the caller's, an empty line, and the call itself. The answer is a line: `ok`, followed by a space
and what the hook tells its agent if there is anything to tell, or `no`. After anything but a whole line with `ok` the
script has the hook client do the same again. The script tries the socket only where it is announced: a name in the
state folder leads to it once this machine's `perl` is known to be able to call.

An agent waits for every call. Threads of their own wait for them in `accept`, read, carry out and answer: by way of the
event loop, which hands the work to a thread and the outcome back, a call took a quarter longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import select
import socket
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Protocol

from rekindle.doors.socket.peer import Peer, peer_of
from rekindle.hooks.carrying import carry_out
from rekindle.hooks.open_journals import OpenJournals
from rekindle.ports.ancestry import Ancestry

log = logging.getLogger(__name__)
#: The lines of a request, in their order.
VARIABLES = (
    *("PWD", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"),
    *("REKINDLE_FEATURE", "REKINDLE_SID", "REKINDLE_AGENT", "REKINDLE_PROGRESS_DIR"),
    *("TMUX_PANE", "ZELLIJ_PANE_ID", "STY", "WEZTERM_PANE", "KITTY_WINDOW_ID"),
    *("REKINDLE_STAMP", "REKINDLE_SKILL_SESSIONS_DIR"),
)
GREETING = b"rekindle-hook 1 "
#: Names of calls that find out whether `perl` can call: one is answered, the other is not.
PING, PONG, HUSH = "ping", "pong", "hush"
_LONGEST = 1 << 20
_SECONDS = 5.0
_LOOK_AGAIN = 2.0
#: A socket's address has at most 107 bytes; the script calls this one by its announced name.
_LONGEST_NAME = 107
#: So many threads wait for calls; while all are in use another one begins, up to so many.
_READY, _MOST = 2, 32
_WAITING = 128
_BLOCK = 1 << 16
#: What `accept` says of a socket that was closed. Whatever else it says (no descriptor is left, say) passes.
_CLOSED = (errno.EBADF, errno.EINVAL)
_PAUSE = 0.1


class BadCall(ValueError):
    """A request that does not follow the protocol."""


class CallingTool(Protocol):
    """What the script calls the door with: the machine's `perl`."""

    def as_installed(self) -> object:
        """What changes whenever another one is installed."""

    async def can_call(self, path: str, ping: str, pong: str, hush: str) -> bool:
        """Try it out, on a door that answers the call `ping` with `pong`, and `hush` not at all."""


class HookDoor:
    """Serves hook calls at `path`, announced as `name` while it can be called with `tool`."""

    def __init__(self, path: str, name: str, ancestry: Ancestry, tool: CallingTool) -> None:
        self._path = path
        self._name = name
        self._ancestry = ancestry
        self._tool = tool
        self._listener: socket.socket | None = None
        #: what is at `path` since it was opened
        self._made: tuple[int, int] | None = None
        self._journals = OpenJournals()
        self._lock = threading.Lock()
        self._ready = 0
        self._all = 0

    async def attend(self) -> None:
        """Listen and, where `perl` can call, be known for it. Never returns."""
        tried: object = None
        can_call = False
        while True:
            with contextlib.suppress(OSError):
                if self._made is None or _file_at(self._path) != self._made:
                    self._open()
                elif not self._all and self._listener is not None:
                    self._begin(self._listener)  # there was no thread left when one was needed
                if (installed := self._tool.as_installed()) != tried:
                    _remove(self._name)
                    tried, can_call = installed, await self._can_be_called()
                if can_call:
                    self._announce()
            await asyncio.sleep(_LOOK_AGAIN)

    async def _can_be_called(self) -> bool:
        is_short = len(os.fsencode(self._name)) <= _LONGEST_NAME
        return is_short and await self._tool.can_call(self._path, PING, PONG, HUSH)

    async def close(self) -> None:
        """Stop listening."""
        self._journals.close()
        if self._listener is not None:
            _end(self._listener)
            for place in (self._name, self._path):
                with contextlib.suppress(OSError):
                    _remove(place)

    def _open(self) -> None:
        if self._listener is not None:
            _end(self._listener)
        self._made = None
        _remove(self._path)
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(self._path)
            os.chmod(self._path, 0o600)
            listener.listen(_WAITING)
        except OSError:
            listener.close()
            raise
        self._listener = listener
        self._made = _file_at(self._path)
        self._begin(listener)

    def _begin(self, listener: socket.socket) -> None:
        with self._lock:
            self._all += 1
        try:
            threading.Thread(target=self._wait, args=(listener,), name="hooks", daemon=True).start()
        except RuntimeError as error:  # the user has too many processes
            with self._lock:
                self._all -= 1
            log.warning("hook calls have to wait for each other: %s", error)

    def _wait(self, listener: socket.socket) -> None:
        """Take one call after the other, for as long as it is of use."""
        try:
            while True:
                with self._lock:
                    if self._ready >= _READY:
                        return  # enough others wait
                    self._ready += 1
                try:
                    connection = _accepted(listener)
                finally:
                    with self._lock:
                        self._ready -= 1
                        is_last = not self._ready and self._all < _MOST
                if connection is None:
                    return  # the door was closed
                if is_last:
                    self._begin(listener)
                self._serve(connection)
        finally:
            with self._lock:
                self._all -= 1

    def _announce(self) -> None:
        with contextlib.suppress(OSError):
            if os.readlink(self._name) == self._path:
                return
        new = f"{self._name}.new"
        _remove(new)
        os.symlink(self._path, new)
        os.replace(new, self._name)

    def _serve(self, connection: socket.socket) -> None:
        answer = b"no\n"
        replaced: list[int] = []
        try:
            peer = peer_of(connection, self._ancestry)
            if peer is not None:
                answer = self._answer(peer, connection, replaced)
        except Exception as error:  # the hook client does the same again, and keeps what is wrong in its log
            log.debug("a hook call was left to the hook client: %s: %s", type(error).__name__, error)
        finally:
            with contextlib.suppress(OSError):
                connection.settimeout(_SECONDS)
                connection.sendall(answer)
            connection.close()
            for file in replaced:
                os.close(file)

    def _answer(self, peer: Peer, connection: socket.socket, replaced: list[int]) -> bytes:
        request = _Request(connection)
        name, length = _parsed(request.until(b"\n"))
        variables = _variables(request.until(b"\n\n"))
        given = request.exactly(length)
        if name == PING:
            return f"ok {PONG}\n".encode()
        if name == HUSH:
            request.rest()
            return b"no\n"
        told = carry_out(
            given,
            name,
            variables,
            self._journals,
            parent=peer.pid,
            is_inside=peer.is_inside,
            is_waited_for=_watched(connection),
            replaced=replaced,
        )
        return f"ok {told}\n".encode() if told else b"ok\n"


class _Request:
    """What somebody sends, within the time and the length that a call may have."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end = monotonic() + _SECONDS
        self._had = b""

    def until(self, mark: bytes) -> bytes:
        """Up to a mark, and with it."""
        while mark not in self._had:
            self._more()
        found, _, self._had = self._had.partition(mark)
        return found + mark

    def exactly(self, length: int) -> bytes:
        """So many bytes."""
        parts, missing = [self._had], length - len(self._had)
        while missing > 0:
            parts.append(self._received())
            missing -= len(parts[-1])
        return b"".join(parts)[:length]

    def rest(self) -> None:
        """Wait until nothing more comes."""
        with contextlib.suppress(BadCall):
            while True:
                self._received()

    def _more(self) -> None:
        if len(self._had) > _LONGEST:
            raise BadCall("it is too long")
        self._had += self._received()

    def _received(self) -> bytes:
        self._connection.settimeout(max(self._end - monotonic(), 0.001))
        block = self._connection.recv(_BLOCK)
        if not block:
            raise BadCall("it is not complete")
        return block


def _remove(place: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place)


def _file_at(place: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(place)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _accepted(listener: socket.socket) -> socket.socket | None:
    """The next connection; None: the door was closed."""
    while True:
        try:
            return listener.accept()[0]
        except OSError as error:
            if error.errno in _CLOSED:
                return None
        sleep(_PAUSE)


def _end(listener: socket.socket) -> None:
    """Stop listening; those who wait for a connection get none. (To close it would not wake them.)"""
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def _parsed(line: bytes) -> tuple[str, int]:
    words = line.removeprefix(GREETING).split()
    if not line.startswith(GREETING) or len(words) != 2 or not words[1].isdigit() or int(words[1]) > _LONGEST:
        raise BadCall("the first line is not a hook call")
    name = words[0].decode("ascii")
    if not all(char.isalnum() or char == "-" for char in name):
        raise BadCall("the call has an odd name")
    return name, int(words[1])


def _variables(block: bytes) -> dict[str, str]:
    pairs = [line.partition("=") for line in os.fsdecode(block).removesuffix("\n\n").split("\n")]
    if tuple(key for key, _, _ in pairs) != VARIABLES:
        raise BadCall("there are other variables")
    return {key: value for key, _, value in pairs}


def _watched(connection: socket.socket) -> Callable[[], bool]:
    """Tells whether the other side still has the connection open."""
    poll = select.poll()
    poll.register(connection, 0)  # a hang-up is always told
    return lambda: not poll.poll(0)
