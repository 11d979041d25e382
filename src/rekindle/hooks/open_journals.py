"""The journals that the daemon keeps open for hook calls: opening one and reading its head is half of a call's work.

A journal is lent to one call at a time, because an appender is not for several threads. Everything else about it (other
writers, a repair, a journal that was moved away) an open appender notices by itself, each time that it takes the lock.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable

from rekindle.adapters.journal_file.append import AppendCalls, Appender
from rekindle.adapters.journal_file.ledger import Ledger


class _WhileWaitedFor(AppendCalls):
    """Writes as always, but only for somebody who still waits. Called with the journal's lock held."""

    def __init__(self) -> None:
        self.is_waited_for: Callable[[], bool] = lambda: False

        def write(fd: int, data: bytes) -> int:
            if not self.is_waited_for():
                raise OSError(errno.ECANCELED, "nobody waits for it any more")
            return os.write(fd, data)

        self.write = write


class _Kept:
    def __init__(self, path: str, root: str, state_dir: str, seconds: float) -> None:
        self.lock = threading.Lock()
        self.system = _WhileWaitedFor()
        self.appender = Appender(
            path, lock_seconds=seconds, root=root, ledger=Ledger(state_dir, path), system=self.system
        )


class OpenJournals:
    """At most `most` of them; the one that was not used for the longest time is closed first."""

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._lock = threading.Lock()

    def take(self, path: str, root: str, state_dir: str, seconds: float, is_waited_for: Callable[[], bool]) -> Appender:
        """The journal at `path`, until `give_back`. Raises TimeoutError if another call has it for too long."""
        with self._lock:
            kept = self._kept.pop((path, root), None) or _Kept(path, root, state_dir, seconds)
            self._kept[path, root] = kept
            self._close_oldest()
        if not kept.lock.acquire(timeout=seconds):
            raise TimeoutError(f"{path} is in use")
        kept.system.is_waited_for = is_waited_for
        return kept.appender

    def give_back(self, appender: Appender) -> None:
        """Let the next call have it."""
        with self._lock:
            for kept in self._kept.values():
                if kept.appender is appender:
                    appender.rest()
                    kept.lock.release()
                    return

    def close(self) -> None:
        """Close those that nobody uses."""
        with self._lock:
            self._most = 0
            self._close_oldest()

    def _close_oldest(self) -> None:
        for key, kept in list(self._kept.items())[: max(0, len(self._kept) - self._most)]:
            if kept.lock.acquire(blocking=False):
                kept.appender.close()
                del self._kept[key]
