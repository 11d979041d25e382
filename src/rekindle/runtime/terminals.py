"""Listens to agents that are used in a terminal: their silence is all that says how far they are."""

from __future__ import annotations

import asyncio
import logging

from rekindle.ports.errors import RekindleError
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)


async def listen(supervisor: Supervisor, seconds: float = 0.5) -> None:
    """Look around for ever."""
    while True:
        await asyncio.sleep(seconds)
        for session in supervisor.engine.at_hand():
            if not session.terminal or not supervisor.is_followed(session.id):
                continue
            try:
                await supervisor.listen(session.id)
            except RekindleError as error:
                log.warning("%s could not be listened to: %s", session.id, error.message)
