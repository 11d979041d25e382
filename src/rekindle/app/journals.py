"""Journal appends through the daemon: requests that come at the same time share one sync.

Files are opened, written and synced in one dedicated thread, so the loop never waits for a disk and no appender is
used by two threads.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import msgspec

from rekindle.app.requests import AppendRequest
from rekindle.core.journal.belonging import OUTSIDE, run_for
from rekindle.ports.errors import BadEvent, RekindleError, UsageError
from rekindle.ports.journal import Appended, Journal, NewEvent, Sync
from rekindle.ports.store import OutboxEntry

log = logging.getLogger(__name__)
_MOST_OPEN = 64
_Key = tuple[str, str]


@dataclass(frozen=True)
class _Late:
    """Where to write an event that happened a while ago: the run that it belongs to when it is written."""

    happened_in: str | None
    session: str


_Order = tuple[NewEvent, str | _Late | None]
_Outcome = Appended | RekindleError


class AppendedEvent(msgspec.Struct, frozen=True):
    """Where an event was written. `written` is False if its id was already in the journal."""

    sid: str | None
    seq: int | None
    written: bool


class JournalWriters:
    """Open journals, and the queued appends."""

    def __init__(self, open_journal: Callable[[str, str], Journal]) -> None:
        self._open = open_journal
        self._journals: dict[_Key, Journal] = {}
        self._waiting: dict[_Key, list[tuple[_Order, asyncio.Future[Appended]]]] = {}
        self._writing: dict[_Key, asyncio.Task[None]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journals")

    async def append(self, asked: AppendRequest) -> AppendedEvent:
        """Append an event; returns when it is on disk."""
        names = {"sid": asked.sid, "agent": asked.agent, "pane_id": asked.pane_id, "event_id": asked.event_id}
        _check(asked.cwd, asked.type, names)
        event = NewEvent(
            asked.type,
            asked.data or {},
            agent=asked.agent,
            pane_id=asked.pane_id,
            event_id=asked.event_id,
            by_agent=asked.by_agent,
            on_record=not asked.by_agent,
        )
        done = await self._appended((asked.cwd, asked.feature), (event, asked.sid))
        return AppendedEvent(done.sid, done.seq, done.written)

    async def append_late(self, entry: OutboxEntry) -> None:
        """Append a session's event to the run that it belongs to now; returns when it is on disk."""
        event = NewEvent(entry.type, entry.data, event_id=entry.id, on_record=True)
        await self._appended((entry.repository, entry.feature), (event, _Late(entry.run, entry.session)))

    async def _appended(self, key: _Key, order: _Order) -> Appended:
        future: asyncio.Future[Appended] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append((order, future))
        if key not in self._writing:
            self._writing[key] = asyncio.ensure_future(self._write(key))
        return await future

    def close(self) -> None:
        """Close the files; what was acknowledged is on disk."""
        self._thread.shutdown(wait=True)
        for journal in self._journals.values():
            journal.close()

    async def _write(self, key: _Key) -> None:
        """Write everything queued with one sync, until the queue is empty."""
        await asyncio.sleep(0)  # requests of the same moment join in
        while batch := self._waiting.pop(key, []):
            orders = [order for order, _ in batch]
            outcomes = await self._outcomes(key, orders)
            for (_, future), outcome in zip(batch, outcomes, strict=True):
                if future.done():
                    continue
                if isinstance(outcome, RekindleError):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
        del self._writing[key]

    async def _outcomes(self, key: _Key, orders: list[_Order]) -> list[_Outcome]:
        """The result of each append. Whatever goes wrong, its caller is told, and the next one is not held up."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._write_all, key, orders)
        except Exception as error:
            log.exception("appends to the journal of %r failed", key)
            told = RekindleError(f"{type(error).__name__}: {error}", "see the daemon's log", code="internal")
            return [told] * len(orders)

    def _write_all(self, key: _Key, orders: list[_Order]) -> list[_Outcome]:
        outcomes: list[_Outcome] = []
        try:
            journal = self._journal(key)
            for order in orders:
                try:
                    event, sid = _placed(order, journal)
                    outcomes.append(journal.append(event, sid=sid, sync=Sync.BATCHED))
                except RekindleError as error:
                    outcomes.append(error)
                except ValueError as error:
                    outcomes.append(
                        BadEvent(f"the event cannot be written: {error}", "use text that can be encoded as UTF-8")
                    )
            journal.flush()
        except (RekindleError, OSError) as error:
            failed = error if isinstance(error, RekindleError) else RekindleError(str(error), "check the disk")
            return [failed] * len(orders)
        return outcomes

    def _journal(self, key: _Key) -> Journal:
        journal = self._journals.pop(key, None)
        if journal is None:
            journal = self._open(*key)
            if len(self._journals) >= _MOST_OPEN:
                self._journals.pop(next(iter(self._journals))).close()
        self._journals[key] = journal
        return journal


def _placed(order: _Order, journal: Journal) -> tuple[NewEvent, str | None]:
    """An event and its sid. If it belongs to no run, it gets its session's, and its type says so."""
    event, where = order
    if not isinstance(where, _Late):
        return event, where
    run = run_for(journal.proven(), where.happened_in)
    return (event, run) if run is not None else (replace(event, type=OUTSIDE + event.type), where.session)


def _check(cwd: str, type_: str, names: dict[str, str | None]) -> None:
    """Refuse what is not a valid folder, event type or name."""
    try:
        is_path = b"\0" not in os.fsencode(cwd) and os.path.isabs(cwd)
    except UnicodeEncodeError:
        is_path = False
    if not is_path:
        raise UsageError(f"{cwd!r} is not a valid folder", "give the absolute path of a folder in the repository")
    if not type_ or not type_.isprintable():
        raise BadEvent(f"{type_!r} is not a valid type of event", "use words joined by dots, such as task.started")
    for what, name in names.items():
        if name is not None and not (name and name.isprintable()):
            raise BadEvent(f"{name!r} is not a valid {what}", "use letters, digits and dashes")
