"""A session's conversation, read from its spools or the vault: over all attempts, and as it grows. Needs no daemon."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from rekindle import files
from rekindle.adapters.session_folder import handovers
from rekindle.adapters.session_folder.rebuild import SESSION_FILE
from rekindle.adapters.vault.spools import open_spool
from rekindle.agents.base import observation as o
from rekindle.agents.base.dialect import Dialect
from rekindle.agents.base.framing import Framed, Framer, Line
from rekindle.agents.base.terminal import in_terminal
from rekindle.agents.registry import AGENTS, DEFAULT
from rekindle.core.session.history import Turn
from rekindle.core.session.prompt_ids import task_in
from rekindle.core.session.state import OURS
from rekindle.keeper import launch
from rekindle.keeper.input_records import InputReader, InputRecord

Kind = Literal[
    "prompt", "told", "said", "thought", "tool", "tool_done", "plan", "question", "end", "error", "attempt", "note"
]
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One thing that was said or done. `call` tells which tool call a result belongs to."""

    kind: Kind
    text: str
    attempt: int
    call: str = ""


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
            reader = self._attempts.get(number)
            if reader is None:
                agent = handovers.agent_of(self._folder, number, self._agent)
                kind = AGENTS[agent if agent in AGENTS else DEFAULT]
                dialect = (in_terminal(kind) if self._in_terminal and kind.terminal else kind).dialect(number, "", None)
                reader = _AttemptReader(os.path.join(self._folder, str(number)), number, dialect)
                self._attempts[number] = reader
                if number > 1:
                    found.append(Entry("attempt", f"attempt {number}", number))
            found.extend(reader.poll())
        return found


def turns(folder: str) -> list[Turn]:
    """A session's conversation as it is told to an agent that does not remember it."""
    return as_turns(Conversation(folder).poll())


def last_turns(folder: str, attempts: Collection[int]) -> dict[int, str]:
    """What was said in the last turn of each of these attempts."""
    found: dict[int, str] = {}
    for entry in Conversation(folder, skip=set(attempts_in(folder)) - set(attempts)).poll():
        if entry.kind in ("prompt", "told"):
            found[entry.attempt] = ""
        elif entry.kind == "said":
            found[entry.attempt] = found.get(entry.attempt, "") + entry.text
    return found


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


def said(folder: str) -> str:
    """Everything that a session's agent has said, over all attempts."""
    return "".join(entry.text for entry in Conversation(folder).poll() if entry.kind == "said")


class _AttemptReader:
    def __init__(self, folder: str, number: int, dialect: Dialect) -> None:
        self._folder = folder
        self._number = number
        self._wire = dialect
        self._framer = Framer()
        self._lines: deque[Framed] = deque()
        self._records: deque[InputRecord] = deque()
        self._last_record = 0
        self.ended = False

    def poll(self) -> list[Entry]:
        if self.ended:
            return []
        record = launch.read_exit(self._folder)
        self._read()
        found: list[Entry] = []
        while True:
            if self._records and self._wire.is_due(self._records[0].prompt, self._records[0].payload):
                found.extend(self._send(self._records.popleft()))
            elif self._lines:
                found.extend(self._receive(self._lines.popleft()))
            else:
                break
        if record is not None:
            self.ended = True
            cut = self._wire.is_prompting
            how = f"killed by {record.signal}" if record.signal else f"exit {record.code}"
            if cut:
                found.append(self._entry("note", f"the agent was cut off in the middle of its turn ({how})"))
        return found

    def _read(self) -> None:
        try:
            with open_spool(self._folder, "in") as file:
                for record in InputReader(file):
                    if record.n > self._last_record:
                        self._records.append(record)
                        self._last_record = record.n
            with open_spool(self._folder, "out") as file:
                file.seek(self._framer.offset)
                while block := file.read(_BLOCK):
                    self._lines.extend(self._framer.feed(block))
        except FileNotFoundError:
            return

    def _send(self, record: InputRecord) -> list[Entry]:
        self._wire.sent(record.prompt, record.payload)
        found = self._wire.prompt_in(record.prompt, record.payload)
        if found is None:
            return []
        return [self._entry("told" if task_in(found[0]) else "prompt", found[1])]

    def _receive(self, line: Framed) -> list[Entry]:
        seen = self._wire.received(line.data) if isinstance(line, Line) else self._wire.oversized(line)
        return [entry for one in seen if (entry := self._shown(one)) is not None]

    def _shown(self, seen: o.Observation) -> Entry | None:
        match seen:
            case o.Said(replay=False):
                return self._entry("thought" if seen.thought else "said", seen.text)
            case o.ToolStarted(replay=False):
                return self._entry("tool", seen.title, seen.tool_id)
            case o.ToolChanged(replay=False) if seen.status in ("completed", "failed"):
                output = f": {seen.output}" if seen.output else ""
                return self._entry("tool_done", f"{seen.status}{output}", seen.tool_id)
            case o.PlanShown(replay=False):
                return self._entry("plan", "\n".join(f"[{one.status}] {one.content}" for one in seen.entries))
            case o.PermissionAsked():
                return self._entry("question", seen.title)
            case o.TurnFinished():
                return self._entry("end", seen.stop_reason)
            case o.TurnFailed():
                return self._entry("error", f"{seen.error_class}: {seen.message}")
            case o.OpenRefused():
                return self._entry("error", f"the conversation was not opened: {seen.message}")
            case o.Retrying():
                told = f"{seen.why}: the agent tries again in {seen.seconds:g} s ({seen.attempt} of {seen.of})"
                return self._entry("note", told)
            case o.Compacted():
                return self._entry("note", f"the agent has compacted its conversation ({seen.why or 'by itself'})")
            case o.Noise():
                return self._entry("note", f"{seen.reason}: {seen.excerpt}")
            case _:
                return None

    def _entry(self, kind: Kind, text: str, call: str = "") -> Entry:
        return Entry(kind, text, self._number, call)


def as_turns(entries: Iterable[Entry]) -> list[Turn]:
    """What was said and done. Thoughts and notes are nobody's words."""
    found: list[Turn] = []
    names: dict[tuple[int, str], str] = {}
    speaking = 0  # the attempt whose words come in pieces right now
    for entry in entries:
        if entry.kind == "said" and speaking == entry.attempt:
            found[-1] = Turn("assistant", found[-1].text + entry.text)
            continue
        speaking = entry.attempt if entry.kind == "said" else 0
        match entry.kind:
            case "prompt":
                found.append(Turn("user", entry.text))
            case "told":
                found.append(Turn("user", entry.text, OURS))
            case "said":
                found.append(Turn("assistant", entry.text))
            case "tool":
                names[entry.attempt, entry.call] = entry.text
                found.append(Turn("tool_call", name=entry.text))
            case "tool_done":
                found.append(Turn("tool_result", entry.text, names.get((entry.attempt, entry.call), "")))
    return found
