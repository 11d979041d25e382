"""A store in a thread of its own, so that the daemon's loop never waits for a disk.

Commits that arrive together are made in one transaction and synced once. Queries are answered in order with the
commits around them. docs/decisions/0004 says why it is a thread.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from rekindle.ports.store import Recorded, Store, StoreChange, StoreError

Found = TypeVar("Found")
#: The most commits in one transaction: the first has to wait for the last.
MOST_AT_ONCE = 64


@dataclass(frozen=True)
class _Commit:
    change: StoreChange
    told: asyncio.Future[list[Recorded]]


@dataclass(frozen=True)
class _Question:
    question: Callable[[Store], Any]
    told: asyncio.Future[Any]


class StoreThread:
    """See `rekindle.ports.store.StoreAccess`. Belongs to one loop. The store belongs to the thread until `close`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[_Commit | _Question | None] = queue.SimpleQueue()
        self._is_closed = False
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)
        self._thread.start()

    async def commit(self, change: StoreChange) -> list[Recorded]:
        """Make a change; it is on disk when this returns."""
        told: asyncio.Future[list[Recorded]] = self._loop.create_future()
        self._wait_for(_Commit(change, told))
        return await told

    async def ask(self, question: Callable[[Store], Found]) -> Found:
        """The store's answer to a query."""
        told: asyncio.Future[Found] = self._loop.create_future()
        self._wait_for(_Question(question, told))
        return await told

    async def close(self) -> None:
        """Finish what was asked so far, then end. The store itself stays open. New requests are refused."""
        self._is_closed = True
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def _wait_for(self, asked: _Commit | _Question) -> None:
        if self._is_closed:
            raise StoreError("the daemon is ending, and has let go of its store", "ask again in a moment")
        self._waiting.put(asked)

    def _work(self) -> None:
        one = self._waiting.get()
        while one is not None:
            if isinstance(one, _Question):
                self._answer(one)
                one = self._waiting.get()
            else:
                together, behind = self._together(one)
                self._make(together)
                one = behind.pop() if behind else self._waiting.get()

    def _together(self, first: _Commit) -> tuple[list[_Commit], list[_Question | None]]:
        """The commits next in the queue, and the item after them, if any."""
        found = [first]
        while len(found) < MOST_AT_ONCE:
            try:
                after = self._waiting.get_nowait()
            except queue.Empty:
                break
            if not isinstance(after, _Commit):
                return found, [after]
            found.append(after)
        return found, []

    def _make(self, commits: list[_Commit]) -> None:
        try:
            made: list[Any] = list(self._store.commit([one.change for one in commits]))
        except StoreError as error:  # a failure of the store itself concerns everybody
            made = [error] * len(commits)
        except BaseException as error:  # whatever it is, the waiting callers must be told
            if len(commits) > 1:  # one of them cannot be written: the others must not suffer
                for one in commits:
                    self._make([one])
                return
            made = [error]
        self._tell([(one.told, what) for one, what in zip(commits, made, strict=True)])

    def _answer(self, asked: _Question) -> None:
        try:
            answer = asked.question(self._store)
        except BaseException as error:
            self._tell([(asked.told, error)])
        else:
            self._tell([(asked.told, answer)])

    def _tell(self, told: list[tuple[asyncio.Future[Any], Any]]) -> None:
        try:
            self._loop.call_soon_threadsafe(_settle, told)
        except RuntimeError:
            return  # the loop is closed: nobody is waiting


def _settle(told: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, what in told:
        if future.done():
            continue  # the caller has gone away
        if isinstance(what, BaseException):
            future.set_exception(what)
        else:
            future.set_result(what)
