"""Notices that files grow, are replaced or appear: one watch for all of them, and a slow look at all now and then.

Folders are watched, not files, so that a file may be replaced, and need not be there yet; of a folder that is not
there, the nearest one above it is. Where the system refuses to watch, the slow look is all there is.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Iterator

from watchfiles import Change, awatch
from watchfiles.main import FileChange

log = logging.getLogger(__name__)

#: How long changes are gathered, and how long a pause ends the gathering (milliseconds): measured, docs/benchmarks.md.
DEBOUNCE, STEP = 50, 10
RESCAN_SECONDS = 5.0
#: After this many rescans, everything copied is compared with the file.
THOROUGH_EVERY = 120


class Follower:
    """`changed` is called in a thread, with the paths to look at and whether to look thoroughly."""

    def __init__(self, changed: Callable[[list[str], bool], None], *, rescan_seconds: float = RESCAN_SECONDS) -> None:
        self._changed = changed
        self._rescan_seconds = rescan_seconds
        self._paths: set[str] = set()
        self._above: set[str] = set()
        self._watched: frozenset[str] = frozenset()
        self._again = asyncio.Event()

    def add(self, path: str) -> None:
        """Start watching a file."""
        self._paths.add(path)
        self._above.update(_above(path))
        if _nearest(path) not in self._watched:
            self._again.set()

    def remove(self, path: str) -> None:
        """Stop watching it."""
        self._paths.discard(path)
        if not self._paths:
            self._again.set()

    async def run(self) -> None:
        """Run forever."""
        logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it logs every change
        slow = asyncio.ensure_future(self._rescan())
        try:
            while True:
                await self._watch()
        finally:
            slow.cancel()
            await asyncio.wait([slow])

    async def _watch(self) -> None:
        again = self._again = asyncio.Event()
        self._watched = self._folders()
        self._above = {folder for path in self._paths for folder in _above(path)}
        if self._watched:
            batches = awatch(
                *self._watched,
                watch_filter=self._concerns_us,
                debounce=DEBOUNCE,
                step=STEP,
                stop_event=again,
                recursive=False,
                force_polling=False,
            )
            try:
                await self._follow(batches)
                return
            except OSError as error:
                log.warning("files are looked at every %g s only: %s", self._rescan_seconds, error)
        await again.wait()

    async def _follow(self, batches: AsyncGenerator[set[FileChange], None]) -> None:
        first = asyncio.ensure_future(anext(batches, set[FileChange]()))
        try:
            await asyncio.sleep(0)  # now the watch is on; what changed before that is looked at once
            await self._look(list(self._paths))
            batch = await first
            while batch and self._watched:
                found = {path for _, path in batch}
                await self._look([path for path in found if path in self._paths])
                if found & self._above and self._folders() != self._watched:
                    return
                batch = await anext(batches, set[FileChange]())
        finally:
            first.cancel()
            await asyncio.wait([first])
            await batches.aclose()

    async def _rescan(self) -> None:
        number = 0
        while True:
            await asyncio.sleep(self._rescan_seconds)
            number += 1
            await self._look(list(self._paths), thorough=number % THOROUGH_EVERY == 0)
            if self._folders() != self._watched:
                self._again.set()

    async def _look(self, paths: list[str], *, thorough: bool = False) -> None:
        if paths:
            await asyncio.to_thread(self._changed, paths, thorough)

    def _concerns_us(self, _: Change, path: str) -> bool:
        return path in self._paths or path in self._above

    def _folders(self) -> frozenset[str]:
        return frozenset(_nearest(path) for path in self._paths)


def _above(path: str) -> Iterator[str]:
    while (folder := os.path.dirname(path)) != path:
        yield folder
        path = folder


def _nearest(path: str) -> str:
    """The lowest folder above a path that exists."""
    return next((folder for folder in _above(path) if os.path.isdir(folder)), "/")
