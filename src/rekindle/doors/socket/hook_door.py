"""The daemon's hook socket: carries out the hook calls of agents, so that none of them starts an interpreter.

Its client is a shell script (`hooks/rekindle-hook`) with `nc`. A request is a line with the call's name and length, one
line per variable of the caller's, an empty line, and the call itself. The answer is `ok`, followed by a space and what
the hook tells its agent if there is anything to tell, or `no`. After anything but `ok` the script has the hook client
do the same again. The script tries the socket only where it is announced: a name in the state folder leads to it once
this machine's `nc` is known to be able to call.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
from collections.abc import Awaitable, Callable, Iterator

from rekindle.doors.socket.peer import Peer, peer_of
from rekindle.hooks.carrying import carry_out
from rekindle.hooks.open_journals import OpenJournals
from rekindle.ports.ancestry import Ancestry

log = logging.getLogger(__name__)
#: The lines of a request, in their order.
VARIABLES = (
    *("PWD", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"),
    *("REKINDLE_FEATURE", "REKINDLE_SID", "REKINDLE_AGENT", "REKINDLE_PROGRESS_DIR"),
    *("TMUX_PANE", "ZELLIJ_PANE_ID"),
)
GREETING = b"rekindle-hook 1 "
#: What is sent to find out whether `nc` can call: one is answered, the other is not.
PING, HUSH = GREETING + b"ping\n", GREETING + b"hush\n"
_LONGEST = 1 << 20
_SECONDS = 5.0
_LOOK_AGAIN = 2.0
#: A socket's address has at most 107 bytes; the script calls this one by its announced name.
_LONGEST_NAME = 107


class BadCall(ValueError):
    """A request that does not follow the protocol."""


class HookDoor:
    """Serves hook calls at `path`, announced as `name`. `can_call` tries out the machine's `nc`."""

    def __init__(self, path: str, name: str, ancestry: Ancestry, can_call: Callable[[str], Awaitable[bool]]) -> None:
        self._path = path
        self._name = name
        self._ancestry = ancestry
        self._can_call = can_call
        self._server: asyncio.Server | None = None
        self._journals = OpenJournals()

    async def attend(self) -> None:
        """Listen and, where `nc` can call, be known for it. Never returns."""
        await self._open()
        can_call = len(os.fsencode(self._name)) <= _LONGEST_NAME and await self._can_call(self._path)
        while True:
            with contextlib.suppress(OSError):
                if not os.path.exists(self._path):
                    await self._open()
                if can_call:
                    self._announce()
            await asyncio.sleep(_LOOK_AGAIN)

    async def close(self) -> None:
        """Stop listening."""
        self._journals.close()
        if self._server is not None:
            self._server.close()
            for place in (self._name, self._path):
                with contextlib.suppress(OSError):
                    os.unlink(place)

    async def _open(self) -> None:
        if self._server is not None:
            self._server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        self._server = await asyncio.start_unix_server(self._client, self._path, limit=_LONGEST)
        os.chmod(self._path, 0o600)

    def _announce(self) -> None:
        with contextlib.suppress(OSError):
            if os.readlink(self._name) == self._path:
                return
        new = f"{self._name}.new"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        os.symlink(self._path, new)
        os.replace(new, self._name)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = b"no\n"
        try:
            async with asyncio.timeout(_SECONDS):
                peer = peer_of(writer, self._ancestry)
                if peer is not None:
                    answer = await self._answer(peer, reader, writer)
        except Exception as error:  # the hook client does the same again, and keeps what is wrong in its log
            log.debug("a hook call was left to the hook client: %s: %s", type(error).__name__, error)
        finally:
            with contextlib.suppress(OSError):
                writer.write(answer)
                writer.close()

    async def _answer(self, peer: Peer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        first = await reader.readline()
        if first == PING:
            return b"ok\n"
        if first == HUSH:
            await reader.read()
            return b"no\n"
        name, length = _parsed(first)
        variables = _variables(await reader.readuntil(b"\n\n"))
        given = await reader.readexactly(length)
        with _watched(writer) as is_waited_for:
            told = await asyncio.to_thread(
                carry_out,
                given,
                name,
                variables,
                self._journals,
                parent=peer.pid,
                is_inside=peer.is_inside,
                is_waited_for=is_waited_for,
            )
        return f"ok {told}\n".encode() if told else b"ok\n"


def _parsed(line: bytes) -> tuple[str, int]:
    words = line.removeprefix(GREETING).split()
    if not line.startswith(GREETING) or len(words) != 2 or not words[1].isdigit() or int(words[1]) > _LONGEST:
        raise BadCall("the first line is not a hook call")
    name = words[0].decode("ascii")
    if not all(char.isalnum() or char == "-" for char in name):
        raise BadCall("the call has an odd name")
    return name, int(words[1])


def _variables(block: bytes) -> dict[str, str]:
    pairs = [line.partition(b"=") for line in block.removesuffix(b"\n\n").split(b"\n")]
    if tuple(key.decode("ascii", "replace") for key, _, _ in pairs) != VARIABLES:
        raise BadCall("there are other variables")
    return {name: os.fsdecode(value) for name, (_, _, value) in zip(VARIABLES, pairs, strict=True)}


@contextlib.contextmanager
def _watched(writer: asyncio.StreamWriter) -> Iterator[Callable[[], bool]]:
    """Tells, in any thread, whether the other side still has the connection open."""
    fd = os.dup(writer.get_extra_info("socket").fileno())
    poll = select.poll()
    poll.register(fd, 0)  # a hang-up is always told

    def is_open() -> bool:
        return not poll.poll(0)

    try:
        yield is_open
    finally:
        os.close(fd)
