"""Carries events from the store to the journals, each under its id, until the journal has it."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from rekindle.ports.errors import RekindleError
from rekindle.ports.store import Store

log = logging.getLogger(__name__)
_PAUSE = 1.0


class Appends(Protocol):
    """Whoever writes to journals."""

    async def append(
        self, *, cwd: str, feature: str, type: str, data: dict[str, Any] | None, event_id: str | None
    ) -> dict[str, Any]:
        """Append an event; returns when it is on disk."""
        ...


async def deliver(store: Store, journals: Appends) -> None:
    """Deliver for ever. An entry that cannot be delivered stays, and is tried again."""
    while True:
        for entry in store.outbox():
            try:
                await journals.append(
                    cwd=entry.repository, feature=entry.feature, type=entry.type, data=entry.data, event_id=entry.id
                )
            except RekindleError as error:
                log.warning("%s of %s waits: %s", entry.type, entry.feature, error.message)
                continue
            store.settle([entry.id])
        await asyncio.sleep(_PAUSE)
