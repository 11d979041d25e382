"""Carries events from the store to the journals, each with its id, until the journal has it.

An event belongs to the run in which it happened. A run waits for the events of its sessions before it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from rekindle.core.session.facts import AnyFact, Created, Exited, Launched, ReceiptWritten, TurnFinished
from rekindle.core.session.state import Session
from rekindle.ports.errors import JournalError, RekindleError
from rekindle.ports.store import OutboxEntry, Recorded, StoreAccess

log = logging.getLogger(__name__)
_PAUSE = 1.0
_RETRY = 0.1


class Appends(Protocol):
    """Writes to journals."""

    async def append_late(self, entry: OutboxEntry) -> None:
        """Append an event to the run that it belongs to by now; returns when it is on disk."""
        ...


def journal_entries(session: Session, facts: Sequence[AnyFact], run: str | None = None) -> list[OutboxEntry]:
    """The journal events for a session's facts. Their ids are derived, so delivering one twice is harmless.

    `run` is the feature's current run.
    """
    if session.feature is None:
        return []
    name = f"{session.agent}-{session.id}"
    life = f"{session.id}-{int(session.created_at * 1000):x}"  # a session that is started over keeps its id
    entries = []
    for fact in facts:
        if isinstance(fact, Created) and fact.branch is not None and not fact.worktree_told:
            data = {"path": fact.worktree, "branch": fact.branch, "session": session.id}
            entries.append(_entry(session, run, f"{session.id}-worktree", "worktree.created", data))
        elif isinstance(fact, Launched):
            data = {"name": name, "role": session.title, "task": session.task, "session": session.id}
            data |= {"branch": session.branch} if session.branch is not None else {}
            entries.append(_entry(session, run, f"{life}-{fact.attempt}-spawned", "agent.spawned", data))
        elif isinstance(fact, Exited):
            result = "success" if fact.by_us and fact.cut is None else "terminated"
            data = {"name": name, "result": result, "session": session.id}
            entries.append(_entry(session, run, f"{life}-{fact.attempt}-completed", "agent.completed", data))
        elif isinstance(fact, TurnFinished) and fact.context is not None:
            data = context_data(name, fact.context, fact.window)
            entries.append(_entry(session, run, f"{life}-{fact.prompt}-context", "context.usage", data))
        elif isinstance(fact, ReceiptWritten):
            data = {"session": session.id, "kind": fact.receipt.kind, "reason": fact.receipt.reason}
            entries.append(_entry(session, run, f"{life}-{fact.attempt}-receipt", "receipt.written", data))
    return entries


def context_data(agent: str, used: int, window: int | None) -> dict[str, Any]:
    """The data of `context.usage`: what the agent reports about its context window, or nothing."""
    percent = round(100 * used / window, 1) if window else None
    return {"agent": agent, "tokens_used": used, "tokens_limit": window, "percent": percent}


def _entry(session: Session, run: str | None, name: str, type_: str, data: dict[str, Any]) -> OutboxEntry:
    where = session.repository or session.cwd  # its own worktree may be gone by then
    return OutboxEntry(name, where, session.feature or "", type_, data, session=session.id, run=run)


class Outbox:
    """Delivers the store's events to journals. One delivery at a time, each feature's events in order."""

    def __init__(self, store: StoreAccess, journals: Appends, where: Callable[[str], Awaitable[str | None]]) -> None:
        """`where` gives a session's current repository: it may have moved."""
        self._store = store
        self._where = where
        self._journals = journals
        self._turn = asyncio.Lock()
        self._posted = asyncio.Event()

    def heard(self, session: Session, _recorded: Sequence[Recorded]) -> None:
        """Something happened to a session: deliver its events without delay."""
        if session.feature is not None:
            self._posted.set()

    async def deliver(self, seconds: float = _PAUSE) -> None:
        """Deliver forever, and look every so many seconds. An entry that cannot be delivered stays and is retried."""
        pause = seconds
        while True:
            stuck: list[str] = []
            self._posted.clear()
            try:
                stuck = await self._deliver(lambda _entry: True)
            except RekindleError as error:
                log.warning("the outbox waits: %s", error.message)
            for problem in stuck:
                log.warning("%s", problem)
            pause = min(pause * 2, 60.0) if stuck else seconds
            if stuck:
                await asyncio.sleep(pause)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._posted.wait()

    async def flush(self, repository: str, feature: str, seconds: float) -> None:
        """Return when everything that happened to a feature's sessions is in its journal.

        Raises JournalError with the reason if that takes longer than `seconds`.
        """
        now = asyncio.get_running_loop().time
        deadline = now() + seconds
        while True:
            stuck = await self._deliver(lambda entry: (entry.repository, entry.feature) == (repository, feature))
            if not stuck:
                return
            if now() > deadline:
                raise JournalError(
                    f"what the agents of {feature} did cannot be written down: {stuck[0]}",
                    f"see to it, then: rekindle resume {feature}",
                )
            await asyncio.sleep(_RETRY)

    async def _deliver(self, wanted: Callable[[OutboxEntry], bool]) -> list[str]:
        """Deliver what is waiting; returns what could not be delivered, in words."""
        stuck: dict[tuple[str, str], str] = {}
        async with self._turn:
            waiting = await self._store.ask(lambda store: store.outbox(limit=10_000))
            for entry in [await self._placed(one) for one in waiting]:
                if not wanted(entry):
                    continue
                place = (entry.repository, entry.feature)
                if place in stuck:
                    continue  # in order, or not at all
                try:
                    await self._journals.append_late(entry)
                except (RekindleError, OSError) as error:
                    stuck[place] = f"{entry.type} of {entry.feature} waits: {error}"
                    continue
                await self._settled(entry.id)
        return list(stuck.values())

    async def _settled(self, name: str) -> None:
        await self._store.ask(lambda store: store.settle([name]))

    async def _placed(self, entry: OutboxEntry) -> OutboxEntry:
        now = await self._where(entry.session)
        return entry if now is None else replace(entry, repository=now)
