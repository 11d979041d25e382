"""Watches agents whose silence shows how far they are: in a terminal, or because they do not report it."""

from __future__ import annotations

import asyncio
import logging

from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)


def _is_to_be_heard(session: Session) -> bool:
    """In a terminal always; else an agent that was started and has not opened its conversation yet."""
    attempt = session.attempt
    return session.terminal or (attempt is not None and attempt.status == "up")


async def listen(supervisor: Supervisor, seconds: float = 0.5) -> None:
    """Check forever."""
    while True:
        await asyncio.sleep(seconds)
        for session in supervisor.engine.at_hand():
            if not _is_to_be_heard(session) or not supervisor.is_followed(session.id):
                continue
            try:
                await supervisor.listen(session.id)
            except RekindleError as error:
                log.warning("%s could not be listened to: %s", session.id, error.message)
