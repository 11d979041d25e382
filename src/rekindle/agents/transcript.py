"""What an agent's own file of a conversation tells, in words that are the same for all agents.

A dialect turns bytes into these values and gives bytes back; where the bytes come from, and who may write them, is
decided elsewhere. Any bytes can be read: what is broken becomes a problem in words, never an exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from rekindle.agents.dialect import OpenTool


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as its file has it.

    `prompts` are the texts that a person, or rekindle, sent; what the agent put in on its own is not among them.
    `entries` are the ids of its lines, stable over time. `open_tools` are the calls that nothing came after. `points`
    are the answers after which a copy of the conversation can be begun, each with its first words.
    """

    prompts: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    said: str = ""
    open_tools: tuple[OpenTool, ...] = ()
    problems: tuple[str, ...] = ()
    points: tuple[tuple[str, str], ...] = ()


class Repaired(msgspec.Struct, frozen=True):
    """A file that the agent can go on with; without changes it is the one that was given, byte for byte."""

    data: bytes
    changes: tuple[str, ...]


class NoPlace(ValueError):
    """No file can be named: the environment has no home, or the token is no name of a file."""


class TranscriptDialect(Protocol):
    """How one kind of agent keeps its conversations."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """The absolute path of a conversation's file. `cwd` is the real path of the agent's folder. Raises NoPlace.

        A `*` stands for a part of a name that nobody can tell beforehand.
        """
        ...

    def read(self, data: bytes) -> Record:
        """What the file tells, as far as it can be read."""
        ...

    def repair(self, data: bytes) -> Repaired:
        """The file without what the agent would stumble over. Nothing that can be read is lost."""
        ...


def extends(older: Record, newer: Record) -> bool:
    """Whether the newer one is the older one continued: it has all its lines, in their order."""
    rest = iter(newer.entries)
    return all(entry in rest for entry in older.entries)
