"""From which attempt on another agent continued a session: kept beside its keepers, whose spools need it."""

from __future__ import annotations

import contextlib
import os

import msgspec

from rekindle import files
from rekindle.adapters.session_folder.layout import SessionFolder
from rekindle.core.session.facts import Handover


class Kept(msgspec.Struct, frozen=True):
    """The first attempt of the new agent."""

    attempt: int
    handover: Handover


def keep(folder: str, attempt: int, handover: Handover) -> None:
    """On disk when this returns. Of two handovers before the same attempt the later one counts."""
    kept = [one for one in read(folder) if one.attempt < attempt]
    data = msgspec.json.encode([*kept, Kept(attempt, handover)])
    files.replace(SessionFolder(folder).handovers, data, mode=0o600, durable=True)


def read(folder: str) -> list[Kept]:
    """All handovers of a session, in order; none where they cannot be read."""
    try:
        return msgspec.json.decode(files.read(SessionFolder(folder).handovers), type=list[Kept])
    except (OSError, msgspec.MsgspecError):
        return []


def forget(folder: str) -> None:
    """As if one agent had had the session from its beginning."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(SessionFolder(folder).handovers)


def agent_of(folder: str, attempt: int, first: str) -> str:
    """The agent of an attempt, in a session that was started with the agent `first`."""
    return next((one.handover.agent for one in reversed(read(folder)) if one.attempt <= attempt), first)
