"""Agent processes through their keepers: the Keepers port on `rekindle.keeper`.

Where things are follows from session and attempt alone, so that a daemon that has never seen an attempt finds it:
SESSIONS/<session>/<attempt>/ is its keeper's folder, SESSIONS/<session>/lock the session's lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Literal

from rekindle.adapters.keepers import tmux
from rekindle.adapters.keepers.connection import KeeperConnection
from rekindle.adapters.keepers.local_runtime import LocalRuntime
from rekindle.adapters.keepers.scopes import ScopeWords
from rekindle.adapters.keepers.start import obstacle, start
from rekindle.adapters.keepers.tmux import Terminals
from rekindle.adapters.machine.file_growth import GrowthInLoop
from rekindle.adapters.machine.process_identity import is_stopped
from rekindle.adapters.session_folder.layout import session_folder
from rekindle.adapters.session_folder.spool_files import read_messages
from rekindle.keeper import launch, lockfile, room
from rekindle.keeper.errors import KeeperGone, Refused, ReplacedGeneration
from rekindle.keeper.outcome import EndedBy, ExitRecord
from rekindle.keeper.processes import is_running, send_signal
from rekindle.keeper.refusals import Code
from rekindle.keeper.spec import Layout, Spec
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import AttemptOrder, Ended, KeeperLost, Lost, NoRoomForTurn, Output, Sent, StartedAttempt
from rekindle.ports.store import StaleGeneration as StaleWriter

_BLOCK = 1 << 18
#: How long output is gathered before the next look: a streaming agent must not wake the daemon for each word.
_GATHER_SECONDS = 0.01
#: How often one looks who is told when there is more, and how often who is told nothing (the pause grows up to this).
_TOLD_SECONDS, _UNTOLD_SECONDS = 1.0, 0.2
_FIRST_SECONDS = 0.002
_GRACE = 10.0


class KeeperProcesses(LocalRuntime):
    """See `rekindle.ports.keepers.Keepers`. `sessions` is the folder of all sessions, `sockets` a short 0700 folder."""

    def __init__(
        self,
        sessions: str,
        sockets: str,
        *,
        terminals: Terminals | None = None,
        grace: float = _GRACE,
        scopes: ScopeWords | None = None,
    ) -> None:
        super().__init__(sessions)
        self._terminals = terminals or Terminals(os.path.join(sockets, "tmux"))
        self._sockets = sockets
        self._grace = grace
        self._scopes = scopes
        self._nursery: launch.Nursery | None = None
        self._connections: dict[tuple[str, int], KeeperConnection] = {}
        self._generations: dict[tuple[str, int], int] = {}
        self._growth = GrowthInLoop()
        self._followers: dict[tuple[str, int], asyncio.Event] = {}
        self._sweeping: set[str] = set()  # sessions whose lock we hold ourselves, to clean up behind a dead keeper

    def folder(self, session: str, attempt: int) -> str:
        """The keeper's folder of an attempt."""
        return session_folder(self._sessions, session).attempt(attempt)

    def lock(self, session: str) -> str:
        """The session's lock."""
        return session_folder(self._sessions, session).lock

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        """Start the attempt unless it runs or has run already."""
        spec = self._spec(order)
        if order.terminal:
            return await start(spec, self._terminals.opener(order.session))
        if self._scopes is not None:
            return await start(spec, through=self._scopes(order.session))
        return await start(spec, forked_by=self._nursery)

    @contextlib.contextmanager
    def nursery(self) -> Iterator[None]:
        """Agents that are started in this block start sooner: a process is ready to fork their guards."""
        if self._scopes is not None:  # a scope has to be entered by a program
            yield
            return
        with contextlib.closing(launch.nursery(self._sessions)) as self._nursery:
            self._nursery.open()
            yield
        self._nursery = None

    def obstacle(self, order: AttemptOrder) -> str | None:
        """What is missing for a start."""
        return obstacle(self._spec(order))

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        """Speak for the session from now on."""
        try:
            await self._greet(session, attempt, generation)
        except ReplacedGeneration as error:
            raise _overtaken(session) from error
        except KeeperGone:
            self._generations[session, attempt] = generation
            return False
        except Refused as error:
            raise RekindleError(
                f"{session}: its keeper refused us ({error})", "stop it with the rekindle that began it"
            ) from error
        self._generations[session, attempt] = generation
        return True

    async def send(self, session: str, attempt: int, message: str, payload: bytes) -> int:
        """Put a message into the input spool and return its number."""
        try:
            connection = await self._connected(session, attempt)
            answer = await connection.request({"op": "send", "id": message}, payload)
        except KeeperGone as error:
            raise KeeperLost(f"{session}: {error}") from error
        except ReplacedGeneration as error:
            raise _overtaken(session) from error
        except Refused as error:
            if error.code == Code.NO_ROOM.value:
                raise NoRoomForTurn(
                    f"{session}: there is no room on the disk for another turn", "make room; it then goes on by itself"
                ) from error
            raise KeeperLost(f"{session}: {error}") from error
        return int(answer["n"])

    async def end(self, session: str, attempt: int, reason: str) -> None:
        """Begin to end the attempt's whole tree."""
        try:
            connection = await self._connected(session, attempt)
            await connection.request({"op": "stop", "reason": reason})
        except KeeperGone:
            identity = launch.read_identity(self.folder(session, attempt))
            if identity is not None and lockfile.is_held(self.lock(session)):
                # That is a stop, too. Where the keeper is gone its guard ends the tree.
                send_signal(identity.keeper, signal.SIGTERM)
        except ReplacedGeneration as error:
            raise _overtaken(session) from error
        except Refused:
            return  # it is already ending

    async def renew(self, session: str, attempt: int, until: float) -> None:
        """Let the agent live until then."""
        try:
            connection = await self._connected(session, attempt)
            await connection.request({"op": "renew", "until": until})
        except ReplacedGeneration as error:
            raise _overtaken(session) from error
        except (KeeperGone, Refused) as error:
            raise KeeperLost(f"{session}: {error}") from error

    def sent(self, session: str, attempt: int) -> Iterator[Sent]:
        """What the input spool holds."""
        try:
            yield from read_messages(Layout(self.folder(session, attempt)).input)
        except FileNotFoundError:
            return

    def heard_at(self, session: str, attempt: int) -> float | None:
        """When the agent last wrote something."""
        try:
            found = os.stat(os.path.join(self.folder(session, attempt), "out"))
        except FileNotFoundError:
            return None
        return found.st_mtime if found.st_size else None

    def heard(self, session: str, attempt: int) -> bytes:
        """All that the agent has written so far."""
        try:
            with open(Layout(self.folder(session, attempt)).out, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    async def follow(self, session: str, attempt: int, offset: int) -> AsyncIterator[Output | Lost | Ended]:
        """What the agent writes, and how it ends."""
        folder, lost = self.folder(session, attempt), 0
        async with contextlib.aclosing(self._said(session, attempt, offset)) as said:
            async for item in said:
                lost += item.bytes if isinstance(item, Lost) else 0
                yield item
        connection = self._connections.pop((session, attempt), None)
        if connection is not None:
            await connection.close()
        self._sweeping.add(session)
        try:
            swept = await asyncio.to_thread(self._sweep, session, attempt)
        finally:
            self._sweeping.discard(session)
        yield _ended(launch.read_exit(folder), launch.read_progress(folder), swept, lost, _last_words(folder))

    async def _said(self, session: str, attempt: int, offset: int) -> AsyncGenerator[Output | Lost, None]:
        """What the agent writes, until nobody holds the session's lock and all of it is read."""
        key, path, lock = (session, attempt), Layout(self.folder(session, attempt)).out, self.lock(session)
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if os.path.exists(path) else -1
        more = self._followers[key] = asyncio.Event()
        pause = _FIRST_SECONDS
        try:
            with self._growth.watched(path, more.set) as is_told:
                while True:
                    more.clear()
                    gone = not lockfile.is_held(lock)
                    size = os.fstat(fd).st_size if fd >= 0 else 0
                    if size < offset:
                        yield Lost(offset - size)
                        offset = size
                    block = os.pread(fd, _BLOCK, offset) if fd >= 0 else b""
                    if block:
                        offset += len(block)
                        pause = _FIRST_SECONDS
                        yield Output(block, offset)
                        await asyncio.sleep(_GATHER_SECONDS if len(block) < _BLOCK else 0)
                    elif gone:
                        return
                    else:
                        await _woken(more, _TOLD_SECONDS if is_told and self._is_connected(key) else pause)
                        pause = min(pause * 1.3, _UNTOLD_SECONDS)
        finally:
            if fd >= 0:
                os.close(fd)
            if self._followers.get(key) is more:
                del self._followers[key]

    def look(self, session: str, attempt: int) -> Literal["absent", "alive", "ending", "gone"]:
        """A quick look at an attempt."""
        folder = self.folder(session, attempt)
        if not os.path.exists(Layout(folder).spec):
            return "absent"
        if session in self._sweeping or not launch.is_alive(folder):
            return "gone"
        identity = launch.read_identity(folder)
        return "alive" if identity is None or is_running(identity.agent) else "ending"

    def stopped(self, session: str, attempt: int) -> int | None:
        """The pid of the attempt's keeper, if it lives and somebody has stopped it: then it answers nobody."""
        identity = launch.read_identity(self.folder(session, attempt))
        if identity is None or not is_running(identity.keeper):
            return None
        return identity.keeper.pid if is_stopped(identity.keeper.pid) else None

    def _spec(self, order: AttemptOrder) -> Spec:
        return Spec(
            session=order.session,
            attempt=order.attempt,
            generation=order.generation,
            argv=order.argv,
            cwd=order.cwd,
            env=tmux.environment(order.env) if order.terminal else order.env,
            folder=self.folder(order.session, order.attempt),
            lock=self.lock(order.session),
            socket_dir=self._sockets,
            stamp=stamp(self._sessions, order.session),
            pty=order.terminal,
            grace_seconds=self._grace,
            deadline_until=order.until,
        )

    async def _greet(self, session: str, attempt: int, generation: int) -> None:
        """Say hello on the line that is open, so that it is known to be, or on a new one."""
        known = self._connections.get((session, attempt))
        if known is not None and not known.closed:
            with contextlib.suppress(KeeperGone):
                await known.hello(generation)
                return
        await self._connected(session, attempt, generation)

    async def _connected(self, session: str, attempt: int, generation: int | None = None) -> KeeperConnection:
        """The line to the keeper. A new one speaks for the generation, by default for the one that connected."""
        key = (session, attempt)
        connection = self._connections.get(key)
        if connection is not None and not connection.closed:
            return connection
        identity = launch.read_identity(self.folder(session, attempt))
        if identity is None:
            raise KeeperGone("it never said where it listens")
        if not lockfile.is_held(self.lock(session)):
            raise KeeperGone("it is gone")  # in a copy of a store it may live all the same, for the original
        given = self._generations.get(key, 0) if generation is None else generation

        def ended() -> None:
            if key in self._followers:
                self._followers[key].set()

        connection = await KeeperConnection.open(identity.socket, given, identity.keeper.pid, ended)
        self._connections[key] = connection
        return connection

    def _is_connected(self, key: tuple[str, int]) -> bool:
        connection = self._connections.get(key)
        return connection is not None and not connection.closed

    def _sweep(self, session: str, attempt: int) -> tuple[str, ...]:
        """End what guard and keeper left because both were killed, and give their room back; the lock is ours then."""
        os.makedirs(os.path.dirname(self.lock(session)), mode=0o700, exist_ok=True)  # somebody may have removed it
        fd = lockfile.take(self.lock(session))
        if fd is None:
            return ()
        try:
            ended = launch.end_leftovers(stamp(self._sessions, session))
            if not room.may_run(self.folder(session, attempt)):
                room.give_back(self.folder(session, attempt))
            return tuple(process.comm for process in ended)
        finally:
            os.close(fd)


async def _woken(event: asyncio.Event, seconds: float) -> None:
    """Wait until it is set, or the time runs out."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _overtaken(session: str) -> StaleWriter:
    return StaleWriter(f"{session}: a newer daemon has taken it over", "stop this daemon")


def stamp(sessions: str, session: str) -> str:
    """What marks every process of a session, over all attempts. Another store may have a session of the same id."""
    store = hashlib.blake2b(os.fsencode(os.path.realpath(sessions)), digest_size=6).hexdigest()
    return f"rekindle-{store}-{session}"


def _ended(
    record: ExitRecord | None, progress: launch.Progress | None, swept: tuple[str, ...], lost: int, words: str
) -> Ended:
    if record is None:
        delivered, started = (progress.delivered_n, progress.started_n) if progress is not None else (0, 0)
        return Ended("its guard and keeper were killed", False, delivered, started, swept, lost, unseen=True)
    by_us = record.ended_by is EndedBy.STOP
    if record.ended_by is EndedBy.GUARD:
        how = "its keeper was killed"
    elif record.ended_by in (EndedBy.TERMINAL, EndedBy.DEADLINE):
        how = record.reason
    elif record.signal is not None:
        how = f"killed by {record.signal}"
    else:
        how = f"exited with {record.code}" + (f": {words}" if record.code and words else "")
    if by_us:
        how = f"stopped ({record.reason})"
    truncated = record.truncated_out.lost if record.truncated_out is not None else 0
    names = (*(one.comm for one in record.swept), *swept)
    return Ended(how, by_us, record.delivered_n, record.started_n, names, max(truncated, lost))


def _last_words(folder: str) -> str:
    """The last line of the agent's standard error: it says why a program would not even start."""
    try:
        with open(Layout(folder).err, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 2000))
            lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines()]
    except OSError:
        return ""
    return next((line[:200] for line in reversed(lines) if line), "")
