"""Journal appends through the daemon: requests that come at the same time share one sync."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from rekindle.ports.errors import RekindleError
from rekindle.ports.journal import Journal, NewEvent, Sync

_MOST_OPEN = 64


class JournalWriters:
    """Open journals, and the appends that wait for the next sync of each."""

    def __init__(self, open_journal: Callable[[str, str], Journal]) -> None:
        self._open = open_journal
        self._journals: dict[tuple[str, str], Journal] = {}
        self._waiting: dict[tuple[str, str], list[asyncio.Future[None]]] = {}

    async def append(
        self,
        *,
        cwd: str,
        feature: str,
        type: str,
        data: dict[str, Any] | None = None,
        sid: str | None = None,
        agent: str | None = None,
        pane_id: str | None = None,
        event_id: str | None = None,
    ) -> dict[str, Any]:
        """Append an event; answers when it is on disk."""
        key = (cwd, feature)
        journal = self._journal(key)
        event = NewEvent(type, data or {}, agent=agent, pane_id=pane_id, event_id=event_id)
        done = journal.append(event, sid=sid, sync=Sync.BATCHED)
        waiting = self._waiting.get(key)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if waiting is None:
            self._waiting[key] = [future]
            asyncio.get_running_loop().call_soon(self._begin, key)
        else:
            waiting.append(future)
        await future
        return {"sid": done.sid, "seq": done.seq, "written": done.written}

    def close(self) -> None:
        """Let go of the files; what was acknowledged is on disk."""
        for journal in self._journals.values():
            journal.close()

    def _journal(self, key: tuple[str, str]) -> Journal:
        journal = self._journals.pop(key, None)
        if journal is None:
            journal = self._open(*key)
            if len(self._journals) >= _MOST_OPEN:
                oldest = next(name for name in self._journals if name not in self._waiting)
                self._journals.pop(oldest).close()
        self._journals[key] = journal
        return journal

    def _begin(self, key: tuple[str, str]) -> None:
        task = asyncio.ensure_future(self._sync(key))
        task.add_done_callback(lambda _: None)

    async def _sync(self, key: tuple[str, str]) -> None:
        """Sync once for all that have been written by now, while others may write for the next one."""
        waiting = self._waiting.pop(key)
        try:
            await asyncio.to_thread(self._journals[key].flush)
        except RekindleError as error:
            for future in waiting:
                if not future.done():
                    future.set_exception(error)
            return
        for future in waiting:
            if not future.done():
                future.set_result(None)
