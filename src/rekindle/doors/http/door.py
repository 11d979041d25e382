"""The HTTP door of a daemon: opened, closed, and the links that lead to it. What is heavy is imported when it opens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from rekindle.doors.http.names import DoorPlace, parsed
from rekindle.doors.http.passes import CODE_SECONDS, PAIR_SECONDS, DoorSecrets, Passes
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.ports.http_door import DoorPapers, DoorRecord
from rekindle.ports.kept_answers import KeptAnswers

if TYPE_CHECKING:
    from rekindle.doors.http.house import HttpHouse
    from rekindle.doors.http.live import LiveChanges
    from rekindle.doors.http.server import HttpServer

log = logging.getLogger(__name__)
#: Where the page is in the package.
PAGE_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "page")


class OpenDoor(msgspec.Struct, frozen=True):
    """A door that is open. `is_new`: it was opened by this request."""

    url: str
    outside_url: str
    secret_file: str
    read_only_file: str
    is_new: bool


class DoorLink(msgspec.Struct, frozen=True):
    """A link that lets somebody in, once, for a while. `file` leads a browser there."""

    url: str
    file: str
    seconds: float


class DoorClosed(msgspec.Struct, frozen=True):
    """`was_open`: there was something to close."""

    was_open: bool


class HttpDoor:
    """Belongs to one daemon. Raises RekindleError."""

    def __init__(
        self,
        house: Callable[[Callable[[], str]], HttpHouse],
        changes: Callable[[LiveChanges], Callable[[], None]],
        papers: DoorPapers,
        kept: KeptAnswers,
        bind: Callable[[str, int, int], socket.socket],
        is_inside: Callable[[tuple[str, int], tuple[str, int]], Awaitable[bool]],
    ) -> None:
        """`changes` connects the listener to what happens, and returns how to disconnect it again."""
        self._house = house
        self._connect = changes
        self._papers = papers
        self._kept = kept
        self._bind = bind
        self._is_inside = is_inside
        self._place: DoorPlace | None = None
        self._server: HttpServer | None = None
        self._passes: Passes | None = None
        self._disconnect: Callable[[], None] = lambda: None
        self._turn = asyncio.Lock()
        self._links: set[asyncio.Task[None]] = set()

    @property
    def is_open(self) -> bool:
        """Whether somebody may come at any time."""
        return self._server is not None

    async def open(
        self,
        address: str = "",
        behind: list[str] | None = None,
        cert: str = "",
        key: str = "",
        new_secret: bool = False,
    ) -> OpenDoor:
        """Open the door, or say where it is. Raises OwnedError if it is open somewhere else.

        `new_secret`: one that is open is closed first, and opens in the same place if no other is given.
        """
        async with self._turn:
            wanted = parsed(address, tuple(behind or ()), cert, key)
            if self._place is not None and new_secret:
                where = wanted if address else self._place
                await self._close(for_good=True)
                return self._shown(await self._open(where, new_secret=True), is_new=True)
            if self._place is not None:
                if address and not _is_same(wanted, self._place):
                    raise OwnedError(f"the door is open at {self._place.url}", "close it first: rekindle open --close")
                return self._shown(self._place, is_new=False)
            return self._shown(await self._open(wanted, new_secret=new_secret), is_new=True)

    async def reopen(self) -> None:
        """Open the door again that a killed daemon has left open."""
        record = self._papers.record() if self._papers.is_open() else None
        if record is None:
            return
        about = msgspec.structs.asdict(record)
        try:
            async with self._turn:
                await self._open(DoorPlace(**about), new_secret=False)
        except RekindleError as error:
            log.warning("the HTTP door could not be opened again: %s", error.message)

    async def link(self, read_only: bool = False, pair: bool = False) -> DoorLink:
        """A new link to the door. `pair`: for another device, by the name that it can reach."""
        if self._place is None or self._passes is None:
            raise UsageError("the door is closed", "open it: rekindle open", code="door_closed")
        seconds = PAIR_SECONDS if pair else CODE_SECONDS
        code = self._passes.new_code("read" if read_only else "all", seconds)
        url = f"{self._place.outside_url if pair else self._place.url}#code={code}"
        file = "" if pair else self._papers.redirect(url)
        if file:
            task = asyncio.ensure_future(self._drop_later(file, seconds))
            self._links.add(task)
            task.add_done_callback(self._links.discard)
        return DoorLink(url, file, seconds)

    async def close_for_good(self) -> DoorClosed:
        """Close the door on somebody's request."""
        was_open = self.is_open
        await self.close()
        return DoorClosed(was_open)

    async def close(self, *, for_good: bool = True) -> None:
        """Close the door. Not `for_good`: the next daemon opens it again."""
        async with self._turn:
            await self._close(for_good=for_good)

    async def _close(self, *, for_good: bool) -> None:
        for task in list(self._links):
            task.cancel()
        if self._server is not None:
            self._disconnect()
            await self._server.close()
            if for_good:
                self._papers.closed()
        self._server = self._place = self._passes = None

    async def _open(self, wanted: DoorPlace, *, new_secret: bool) -> DoorPlace:
        from rekindle.doors.http.application import application, guarded
        from rekindle.doors.http.live import LiveChanges
        from rekindle.doors.http.page import PageFiles
        from rekindle.doors.http.server import HttpServer

        before = self._papers.record()
        try:
            listening = self._bind(wanted.address, wanted.port, before.port if before is not None else 0)
        except OSError as error:
            where = f"{wanted.address}:{wanted.port}"
            raise UsageError(f"{where} cannot be used ({error.strerror})", "give another port, or 0") from error
        place = replace(wanted, port=listening.getsockname()[1])
        try:
            known = self._papers.secrets(f"{place.address}:{place.port}", new=new_secret)
            self._papers.keep(DoorRecord(**msgspec.structs.asdict(place)))
        except OSError as error:  # a door that nobody could find or close must not be open
            listening.close()
            raise RekindleError(
                f"{error.filename or 'the runtime folder'}: cannot be written ({error.strerror})",
                "free some disk space, or check the folder's permissions; the door is closed",
            ) from error
        passes = Passes(DoorSecrets(*known), time.monotonic)
        changes = LiveChanges()
        app = application(self._house(lambda: place.url), passes, PageFiles(PAGE_FOLDER), changes)
        server = HttpServer(guarded(app, place, passes, self._kept, self._is_inside), place)
        try:
            await server.open(listening)
        except (OSError, ssl.SSLError) as error:
            with contextlib.suppress(OSError):
                listening.close()
                self._papers.closed()
            raise UsageError(f"the certificate cannot be used ({error})", "check --cert and --key") from error
        self._disconnect = self._connect(changes)
        self._server, self._place, self._passes = server, place, passes
        log.info("the HTTP door is open at %s", place.url)
        return place

    def _shown(self, place: DoorPlace, *, is_new: bool) -> OpenDoor:
        papers = self._papers
        return OpenDoor(place.url, place.outside_url, papers.secret_file, papers.reading_file, is_new)

    async def _drop_later(self, file: str, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        finally:
            self._papers.drop(file)


def _is_same(wanted: DoorPlace, there: DoorPlace) -> bool:
    same = replace(wanted, port=there.port) == there
    return same and wanted.port in (0, there.port)
