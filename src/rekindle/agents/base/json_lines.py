"""Transcripts with one JSON record per line, as most agents keep them: each agent only says what its records mean."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final, Protocol

from rekindle.agents.base.acknowledged import Spoken
from rekindle.agents.base.observation import OpenTool
from rekindle.agents.base.transcript import NoPlace, OneBranch, Record, Repaired
from rekindle.agents.base.transcript_lines import lines, repaired

_TOKEN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,199}")


class Reading:
    """What the records so far add up to. A tool is open until its result comes, or the user says something."""

    def __init__(self) -> None:
        self._prompts: list[str] = []
        self._entries: list[str] = []
        self._said = ""
        self._tools: dict[str, OpenTool] = {}
        self._compactions = 0
        self._turns: list[Spoken] = []
        self._given: list[str] = []
        self._conversation = ""
        self._foreign = 0

    def entry(self, name: str) -> None:
        """A record was read."""
        self._entries.append(name)

    def prompt(self, text: str) -> None:
        """A person, or rekindle, has said something."""
        self._prompts.append(text)
        self._turns.append(Spoken("user", text))
        self._said = ""
        self._tools.clear()

    def give(self, text: str) -> None:
        """The model gets something in the user's name, which may be the agent's own text."""
        self._given.append(text)

    def begin(self, conversation: str) -> None:
        """The record names its conversation; the first name counts."""
        self._conversation = self._conversation or conversation

    def confirm(self, text: str, conversation: str) -> None:
        """A person, or rekindle, has said something: it counts if the model gets it."""
        if conversation and self._conversation and conversation != self._conversation:
            self._foreign += 1
        elif text in self._given:
            self._given.remove(text)
            self.prompt(text)

    def forget(self) -> None:
        """The conversation so far is replaced by what follows."""
        self._prompts.clear()
        self._turns.clear()
        self._given.clear()
        self._said = ""
        self._tools.clear()

    def compacted(self) -> None:
        """The agent has shortened the conversation: its model no longer gets everything said so far."""
        self._compactions += 1

    def say(self, text: str, name: str = "") -> None:
        """The agent has said something; `name` is its own name for the message."""
        self._said += text
        if text:
            self._turns.append(Spoken("assistant", text, name))

    def start(self, tool_id: str, title: str, kind: str = "other") -> None:
        """The agent has asked for a tool."""
        self._tools[tool_id] = OpenTool(tool_id=tool_id, title=title[:500], kind=kind, paths=(), status="pending")

    def finish(self, tool_id: str) -> None:
        """A tool has given a result."""
        self._tools.pop(tool_id, None)

    def record(self, problems: list[str]) -> Record:
        """All of it."""
        return Record(
            prompts=tuple(self._prompts),
            entries=tuple(self._entries),
            said=self._said,
            open_tools=tuple(self._tools.values()),
            problems=tuple(problems),
            turns=tuple(self._turns),
            compactions=self._compactions,
            foreign=self._foreign,
            unconfirmed=tuple(self._given),
        )


class Meaning(Protocol):
    """What is special about one agent's records."""

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """See TranscriptDialect; the token is a valid file name."""
        ...

    def is_record(self, found: dict[str, Any]) -> bool:
        """Whether a complete object in a damaged line is a record."""
        ...

    def name(self, record: dict[str, Any]) -> str | None:
        """The record's own id; None if it has none."""
        ...

    def take(self, record: dict[str, Any], reading: Reading) -> None:
        """Add one record to what was read."""
        ...


class JsonLines(OneBranch):
    """See `rekindle.agents.base.transcript.TranscriptDialect`."""

    def __init__(self, meaning: Meaning) -> None:
        self._meaning = meaning

    def place(self, environment: Mapping[str, str], cwd: str, token: str) -> str:
        """Where the file is; `*` stands for a part that the token does not tell. Raises NoPlace."""
        if not _TOKEN.fullmatch(token):
            raise NoPlace(f"{token!r} cannot be the name of a conversation")
        return self._meaning.place(environment, cwd, token)

    def read(self, data: bytes) -> Record:
        """What the file says, as far as it can be read."""
        reading = Reading()
        problems: list[str] = []
        for line in lines(data, self._meaning.is_record):
            if line.problem:
                problems.append(line.problem)
            for kept in line.kept:
                reading.entry(self._meaning.name(kept.record) or hashlib.sha256(kept.data.strip()).hexdigest())
                self._meaning.take(kept.record, reading)
        return reading.record(problems)

    def repair(self, data: bytes) -> Repaired:
        """Complete records, one per line."""
        return repaired(data, self._meaning.is_record)


def home(environment: Mapping[str, str], variable: str, default: str) -> str:
    """An agent's own folder: the one a variable names, else a folder in the user's home. Raises NoPlace."""
    if own := environment.get(variable):
        return own
    if not environment.get("HOME"):
        raise NoPlace("the agent's environment has no HOME")
    return f"{environment['HOME']}/{default}"
