"""What an agent's own conversation file says, in the same terms for all agents.

A dialect turns bytes into these values and gives bytes back; where the bytes come from, and who may write them, is
decided elsewhere. Any bytes can be read: damage becomes a problem in words, never an exception.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from rekindle.agents.base.acknowledged import Lacking, Spoken, lacking
from rekindle.agents.base.observation import OpenTool


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation that a resume would load from a file: the file may hold others that the agent has left.

    `prompts` are the texts that a person, or rekindle, sent; what the agent added on its own is not among them, but
    prompts that the agent's own summary covers are. `turns` are the messages that the model would get, in order
    (empty for an agent whose record is not read that far). `entries` are the ids of all lines of the file, stable over
    time. `open_tools` are the calls without a result. `points` are the answers after which a copy of the conversation
    can begin, each with its first words. `compactions` is how often the agent has shortened the conversation: its model
    gets a summary, or nothing, of what came before. `foreign` is how many prompts belong to another conversation,
    according to the name they carry. `unconfirmed` is what the model gets in the user's name although the record does
    not say that anybody said it.
    """

    prompts: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    said: str = ""
    open_tools: tuple[OpenTool, ...] = ()
    problems: tuple[str, ...] = ()
    points: tuple[tuple[str, str], ...] = ()
    turns: tuple[Spoken, ...] = ()
    compactions: int = 0
    foreign: int = 0
    unconfirmed: tuple[str, ...] = ()


class Repaired(msgspec.Struct, frozen=True):
    """A file that the agent can continue from; if nothing changed, it is the original, byte for byte."""

    data: bytes
    changes: tuple[str, ...]


class NoPlace(ValueError):
    """No file can be named: the environment has no home, or the token is not a valid file name."""


class TranscriptDialect(Protocol):
    """How one kind of agent keeps its conversations."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """The absolute path of a conversation's file. `cwd` is the real path of the agent's folder. Raises NoPlace.

        A `*` stands for a part of the name that nobody can know beforehand.
        """
        ...

    def read(self, data: bytes) -> Record:
        """What the file says, as far as it can be read."""
        ...

    def repair(self, data: bytes) -> Repaired:
        """The file without what would trip up the agent. Nothing readable is lost."""
        ...

    def acknowledged(self, attempts: Iterable[Iterable[bytes]]) -> tuple[Spoken, ...]:
        """What the agent reported as received and said, in the lines of each attempt; empty: unknown."""
        ...

    def lacks(self, data: bytes, expected: tuple[Spoken, ...], written: frozenset[str]) -> Lacking:
        """What a resume from this file would lack; see `acknowledged.lacking`."""
        ...

    def written(self, data: bytes) -> frozenset[str]:
        """The names of all messages in a file, whether a resume would load them or not."""
        ...

    def redirected(self, data: bytes, expected: tuple[Spoken, ...], written: frozenset[str]) -> Repaired | None:
        """The file changed so that a resume loads what was acknowledged; None: the file does not have it."""
        ...

    def went_on(self, data: bytes, size: int) -> Record | None:
        """The conversation that the agent continued: the one above the first message after `size` bytes.

        None: there is no such message yet.
        """
        ...


class OneBranch(ABC):
    """The defaults for an agent whose file has one conversation and nothing else."""

    @abstractmethod
    def read(self, data: bytes) -> Record:
        """See TranscriptDialect."""

    def acknowledged(self, attempts: Iterable[Iterable[bytes]]) -> tuple[Spoken, ...]:
        """Nothing is required."""
        return ()

    def lacks(self, data: bytes, expected: tuple[Spoken, ...], written: frozenset[str]) -> Lacking:
        """What the file lacks cannot be loaded."""
        return lacking(expected, self.read(data).turns, written)

    def written(self, data: bytes) -> frozenset[str]:
        """The messages that have a name."""
        return frozenset(one.id for one in self.read(data).turns if one.id)

    def redirected(self, data: bytes, expected: tuple[Spoken, ...], written: frozenset[str]) -> Repaired | None:
        """There is no other conversation in the file."""
        return None

    def went_on(self, data: bytes, size: int) -> Record | None:
        """The agent continues after everything that is there."""
        return self.read(data) if len(data) > size else None


def extends(older: Record, newer: Record) -> bool:
    """Whether the newer one continues the older one: it has all its lines, in order."""
    rest = iter(newer.entries)
    return all(entry in rest for entry in older.entries)
