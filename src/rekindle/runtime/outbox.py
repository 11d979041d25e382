"""Carries events from the store to the journals, each under its id, until the journal has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from rekindle.core.session.facts import AnyFact, Created, Exited, Launched, ReceiptWritten
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.store import OutboxEntry, Store

log = logging.getLogger(__name__)
_PAUSE = 1.0


class Appends(Protocol):
    """Whoever writes to journals."""

    async def append(
        self, *, cwd: str, feature: str, type: str, data: dict[str, Any] | None, event_id: str | None
    ) -> dict[str, Any]:
        """Append an event; returns when it is on disk."""
        ...


def journal_entries(session: Session, facts: Sequence[AnyFact]) -> list[OutboxEntry]:
    """What a feature's journal has to be told of a session's facts. Ids are derived: telling it twice is harmless."""
    if session.feature is None:
        return []
    name = f"{session.agent}-{session.id}"
    entries = []
    for fact in facts:
        if isinstance(fact, Created) and fact.branch is not None:
            data = {"path": fact.worktree, "branch": fact.branch, "session": session.id}
            entries.append(_entry(session, f"{session.id}-worktree", "worktree.created", data))
        elif isinstance(fact, Launched):
            data = {"name": name, "role": session.title, "task": session.task, "session": session.id}
            data |= {"branch": session.branch} if session.branch is not None else {}
            entries.append(_entry(session, f"{session.id}-{fact.attempt}-spawned", "agent.spawned", data))
        elif isinstance(fact, Exited):
            result = "success" if fact.by_us and fact.cut is None else "terminated"
            data = {"name": name, "result": result, "session": session.id}
            entries.append(_entry(session, f"{session.id}-{fact.attempt}-completed", "agent.completed", data))
        elif isinstance(fact, ReceiptWritten):
            data = {"session": session.id, "kind": fact.receipt.kind, "reason": fact.receipt.reason}
            entries.append(_entry(session, f"{session.id}-{fact.attempt}-receipt", "receipt.written", data))
    return entries


def _entry(session: Session, name: str, type_: str, data: dict[str, Any]) -> OutboxEntry:
    return OutboxEntry(id=name, repository=session.cwd, feature=session.feature or "", type=type_, data=data)


async def deliver(store: Store, journals: Appends) -> None:
    """Deliver for ever. An entry that cannot be delivered stays, and is tried again."""
    pause = _PAUSE
    while True:
        stuck: set[tuple[str, str]] = set()
        try:
            for entry in store.outbox(limit=10_000):
                place = (entry.repository, entry.feature)
                if place in stuck:
                    continue  # in order, or not at all
                try:
                    await journals.append(
                        cwd=entry.repository, feature=entry.feature, type=entry.type, data=entry.data, event_id=entry.id
                    )
                except (RekindleError, OSError) as error:
                    stuck.add(place)
                    log.warning("%s of %s waits: %s", entry.type, entry.feature, error)
                    continue
                store.settle([entry.id])
        except RekindleError as error:
            log.warning("the outbox waits: %s", error.message)
        pause = min(pause * 2, 60.0) if stuck else _PAUSE
        await asyncio.sleep(pause)
