"""A session's conversation, read from its folder: over all attempts, and as it grows. Needs no daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from rekindle import files
from rekindle.adapters.session_folder import handovers
from rekindle.adapters.session_folder.rebuild import SESSION_FILE
from rekindle.adapters.session_folder.spools import AttemptSpools
from rekindle.agents.base import conversation
from rekindle.agents.base.conversation import Entry
from rekindle.agents.base.dialect import Dialect
from rekindle.agents.base.terminal import in_terminal
from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.core.session.history import Turn
from rekindle.keeper import launch


class Conversation:
    """Reads what is there, and on the next `poll` what has come since. Attempts in `skip` are not read at all."""

    def __init__(self, folder: str, skip: Collection[int] = ()) -> None:
        self._folder = folder
        self._agent = agent_of(folder)  # of its first attempt
        self._in_terminal = is_in_terminal(folder)
        self._skip = skip
        self._attempts: dict[int, _AttemptReader] = {}

    @property
    def ended(self) -> frozenset[int]:
        """The attempts that were read to their end: nothing will come of them any more."""
        return frozenset(number for number, reader in self._attempts.items() if reader.ended)

    def poll(self) -> list[Entry]:
        """Entries that have not been given out yet, in order."""
        found: list[Entry] = []
        for number in attempts_in(self._folder):
            if number in self._skip:
                continue
            if number not in self._attempts:
                self._attempts[number] = self._reader(number)
                found += conversation.beginning(number)
            found += self._attempts[number].poll()
        return found

    def _reader(self, number: int) -> _AttemptReader:
        agent = handovers.agent_of(self._folder, number, self._agent)
        kind = AGENTS[agent if agent in AGENTS else DEFAULT]
        kind = in_terminal(kind) if self._in_terminal and kind.terminal else kind
        return _AttemptReader(os.path.join(self._folder, str(number)), number, kind.dialect(number, "", None))


def turns(folder: str) -> list[Turn]:
    """A session's conversation as it is told to an agent that does not remember it."""
    return conversation.as_turns(Conversation(folder).poll())


def last_turns(folder: str, attempts: Collection[int]) -> dict[int, str]:
    """What was said in the last turn of each of these attempts."""
    return conversation.last_turns(Conversation(folder, skip=set(attempts_in(folder)) - set(attempts)).poll())


def said(folder: str) -> str:
    """Everything that a session's agent has said, over all attempts."""
    return conversation.said(Conversation(folder).poll())


def agent_of(folder: str) -> str:
    """The agent that a session was begun with."""
    agent = _session_file(folder).get("agent")
    return agent if agent in AGENTS else DEFAULT


def is_in_terminal(folder: str) -> bool:
    """Whether the session's agent is used as an interactive program."""
    return _session_file(folder).get("terminal") is True


def _session_file(folder: str) -> dict[str, Any]:
    try:
        found = json.loads(files.read(os.path.join(folder, SESSION_FILE)))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def attempts_in(folder: str) -> list[int]:
    """The attempts that a session's folder has something of, oldest first."""
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isascii() and name.isdigit())
    except (FileNotFoundError, NotADirectoryError):
        return []


@dataclass(frozen=True)
class Extent:
    """How much there is of an attempt. As long as it is the same, reading again gives the same. `at`: last written."""

    sizes: tuple[int, ...]
    at: float


def extent(folder: str, attempt: int) -> Extent:
    """How much there is to read of an attempt now."""
    sizes: list[int] = []
    at = 0.0
    for name in ("in", "out", "exit"):
        try:
            status = os.stat(os.path.join(folder, str(attempt), name))
        except (FileNotFoundError, NotADirectoryError):
            sizes.append(-1)
            continue
        # The file of the exit has its size before it has its content.
        sizes.append(status.st_mtime_ns if name == "exit" else status.st_size)
        at = max(at, status.st_mtime)
    return Extent(tuple(sizes), at)


class _AttemptReader:
    def __init__(self, folder: str, number: int, dialect: Dialect) -> None:
        self._folder = folder
        self._number = number
        self._dialect = dialect
        self._spools = AttemptSpools(folder, dialect)
        self.ended = False

    def poll(self) -> list[Entry]:
        if self.ended:
            return []
        record = launch.read_exit(self._folder)
        found = [entry for one in self._spools.poll() for entry in conversation.entries(one, self._number)]
        if record is not None:
            self.ended = True
            if self._dialect.is_prompting:
                how = f"killed by {record.signal}" if record.signal else f"exit {record.code}"
                found.append(conversation.cut_off(self._number, how))
        return found
