"""The agent's own record of a conversation: copied as it grows, checked before a resume, compared after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from rekindle.agents.base.acknowledged import Lacking
from rekindle.agents.base.transcript import Record
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError


class RecordsError(RekindleError):
    """A record could not be read, kept or put back; nothing was changed."""

    code = "records"


class Checked(msgspec.Struct, frozen=True):
    """What was found before a resume, and what is on disk now.

    `prompts` and `entries` belong to the record that is on disk now, `notes` say what was found and done, and `kept` is
    where the original is, if it was replaced. `size` and `digest` name the bytes, for `Records.compare`. `compactions`
    is how often the agent has shortened the conversation; it is also set for a record that cannot be repaired.
    `lacks` says what a resume would be missing, although it was acknowledged, and could not be repaired.
    """

    state: Literal["intact", "repaired", "restored", "missing", "unsupported"]
    prompts: tuple[str, ...] = ()
    entries: int = 0
    notes: tuple[str, ...] = ()
    kept: str | None = None
    size: int = 0
    digest: str = ""
    compactions: int = 0
    lacks: str = ""


class RecordComparison(msgspec.Struct, frozen=True):
    """Whether the agent continues from what its record was; None if that is unknown. `why` is for a person.

    `prompts` are those of the conversation that it continues, and `lacks` says what that one lacks of what was
    acknowledged before; empty: nothing.
    """

    extends: bool | None
    prompts: tuple[str, ...] = ()
    why: str = ""
    lacks: str = ""


class Records(Protocol):
    """Every method may be called again after a crash. Raises RecordsError; then nothing was changed."""

    def follow(self, session: Session, token: str) -> None:
        """Copy the agent's record as it grows, and its spools now and then. Following twice changes nothing."""
        ...

    def unfollow(self, session: str) -> None:
        """Stop following. `copy` copies what is there by now."""
        ...

    async def copy(self, session: Session) -> None:
        """Copy all that can be copied now: spools of every attempt, records of every token. On disk on return."""
        ...

    async def check(self, session: Session, token: str) -> Checked:
        """Make the agent's record ready for a resume: repair or restore it. Only while no agent is alive.

        The original is kept before anything is replaced, and a replacement is there whole or not at all.
        """
        ...

    async def foresee(self, session: Session, token: str) -> Checked:
        """What `check` would find now. Changes nothing, and starts nothing."""
        ...

    def checked(self, session: Session, token: str) -> Checked | None:
        """What the last `check` found, also after a restart of the daemon."""
        ...

    async def compare(self, session: Session, token: str, before: Checked) -> RecordComparison:
        """After a resume: does the agent's record continue from what it was?"""
        ...

    async def read(self, session: Session, token: str) -> Record | None:
        """The record as it is on disk now; None for an agent whose record we cannot read."""
        ...

    async def lacking(self, session: Session, token: str) -> Lacking:
        """What the record on disk now lacks of what the agent has told us; nothing, if nobody can tell."""
        ...


class MovedRecords(Protocol):
    """The records of agents that keep them by folder, when a session's folder has a new name."""

    def carry_records(self, session: Session, cwd: str, environment: Mapping[str, str]) -> list[str]:
        """Copy them to where the agents look from `cwd`; the old ones stay. Returns what could not be copied."""
        ...
