"""Notices at once that a file has grown: inotify. Python's standard library lacks it, and watchfiles looks in steps.

It only says that it may be worth looking. If the system refuses (it is not Linux, or has no watch left), there are no
notifications, and the caller has to look now and then.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import select
import struct
from collections.abc import Callable, Iterator

_MODIFIED, _CREATED = 0x2, 0x100
_EVENT = struct.Struct("iIII")
_ROOM = 1 << 16


class _Notices:
    """One kernel queue. Raises OSError if none is available."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(self._libc, "inotify_init1"):
            raise OSError("this system has no inotify")
        self.fd = self._checked(self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def add(self, path: str) -> int:
        """Be told when the file grows; of a folder, when something in it grows or is new."""
        return self._checked(self._libc.inotify_add_watch(self.fd, os.fsencode(path), _MODIFIED | _CREATED))

    def remove(self, watch: int) -> None:
        """Stop watching. A watch whose file is gone has gone with it."""
        self._libc.inotify_rm_watch(self.fd, watch)

    def read(self) -> set[int]:
        """The watches with news since the last call; empty: none."""
        try:
            data = os.read(self.fd, _ROOM)
        except BlockingIOError:
            return set()
        found, at = set(), 0
        while at < len(data):
            watch, _, _, length = _EVENT.unpack_from(data, at)
            found.add(watch)
            at += _EVENT.size + length
        return found

    def close(self) -> None:
        """Close the queue."""
        os.close(self.fd)

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return result


class GrowthInLoop:
    """For many files in one loop: calls back when one of them grows."""

    def __init__(self) -> None:
        self._notices: _Notices | None = None
        self._called: dict[int, list[Callable[[], None]]] = {}

    @contextlib.contextmanager
    def watched(self, path: str, grown: Callable[[], None]) -> Iterator[bool]:
        """Call `grown` as the file at `path` grows. False: it will not be called."""
        watch = self._add(path)
        if watch is None:
            yield False
            return
        called = self._called.setdefault(watch, [])
        called.append(grown)
        try:
            yield True
        finally:
            called.remove(grown)
            self._let_go(watch)

    def _add(self, path: str) -> int | None:
        try:
            if self._notices is None:
                self._notices = _Notices()
                asyncio.get_running_loop().add_reader(self._notices.fd, self._tell, self._notices)
            return self._notices.add(path)
        except OSError:
            return None

    def _tell(self, notices: _Notices) -> None:
        found = notices.read()
        everybody = self._called if -1 in found else found  # -1: some notices were dropped
        for grown in [one for watch in everybody for one in self._called.get(watch, ())]:
            grown()

    def _let_go(self, watch: int) -> None:
        """The queue is given back with its last watch: nobody has to close anything."""
        notices = self._notices
        if self._called[watch] or notices is None:
            return
        del self._called[watch]
        notices.remove(watch)
        if not self._called:
            with contextlib.suppress(RuntimeError):  # the loop is gone, and with it the reader
                asyncio.get_running_loop().remove_reader(notices.fd)
            notices.close()
            self._notices = None


class GrowthAwaited:
    """For one program that has nothing else to do: waits until something grows."""

    def __init__(self) -> None:
        self._watches: dict[str, int] = {}
        try:
            self._notices: _Notices | None = _Notices()
        except OSError:
            self._notices = None

    def add(self, path: str) -> bool:
        """Look after a file or a folder, too; whether it is looked after from now on, and was not before."""
        if self._notices is None or path in self._watches:
            return False
        try:
            self._watches[path] = self._notices.add(path)
        except OSError:
            return False
        return True

    def wait(self, seconds: float, *, otherwise: float) -> None:
        """Return when something has grown since the last time, or the time runs out.

        Where nothing is watched, after `otherwise`.
        """
        if self._notices is None or not self._watches:
            select.select([], [], [], min(seconds, otherwise))
        elif select.select([self._notices.fd], [], [], seconds)[0]:
            self._notices.read()
