"""What the spools of one attempt tell about its conversation, read without the store and without the agent.

They are understood by the agent's own dialect, as they are live. What it cannot read is passed over: the agent may have
said anything, and old blocks of its output may have been given back.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from rekindle.adapters.vault.spools import open_spool
from rekindle.agents.base import observation as o
from rekindle.agents.base.booking import Replayed, as_fact
from rekindle.agents.base.dialect import Dialect, fold
from rekindle.agents.base.framing import Framed, Framer, Line
from rekindle.agents.base.kind import AgentKind
from rekindle.core.session import facts as f
from rekindle.core.session.facts import AnyFact, How
from rekindle.core.session.prompt_ids import task_in
from rekindle.core.session.state import OURS
from rekindle.keeper.input_records import InputReader, InputRecord

_BLOCK = 1 << 20
_MOST_SAID = 4000


@dataclass
class OpenTurn:
    """The turn that has no end. `message` is the number of its prompt in the input."""

    prompt: str
    message: int
    began: bool = False
    said: str = ""
    tools: list[str] = field(default_factory=list)


@dataclass
class Conversation:
    """`token` is of a conversation that is known to have been open; `asked` of the one that was asked for.

    `how` is what was tried and `opened` what worked. `known` are the prompts that the agent showed of its record,
    `facts` what happened in the open conversation. `is_partial`: the beginning of the output was given back.
    """

    how: How = "new"
    asked: str | None = None
    opened: How = "new"
    token: str | None = None
    can_load: bool = True
    refused: f.OpenRefused | None = None
    known: list[str] = field(default_factory=list)
    facts: list[AnyFact] = field(default_factory=list)
    turn: OpenTurn | None = None
    is_partial: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def prompts(self) -> list[str]:
        """The ids of the prompts that were sent."""
        return [fact.prompt for fact in self.facts if isinstance(fact, f.PromptSent)]

    def settle(self) -> str | None:
        """Prompts are only sent into an open conversation. What is wrong, if nobody knows into which."""
        if self.token is not None or not self.prompts:
            return None
        self.opened, self.token = self.how, self.asked
        if self.token is not None:
            return None
        self.facts.clear()
        self.turn = None
        return "which conversation it was in cannot be told"


def read_conversation(folder: str, attempt: int, kind: AgentKind, at: float) -> Conversation:
    """`at` is when the attempt began. Never raises for what is in the files; `problems` says what could not be read."""
    found = Conversation()
    reader = _Reader(found, kind.dialect(attempt, "", None), attempt, at)
    records = _records(folder, found.problems)
    try:
        file = open_spool(folder, "out")
    except OSError as error:
        found.problems.append(f"its output cannot be read: {error.strerror}")
        reader.read(records, (), at)
    else:
        with file:
            found.is_partial = _skip_hole(file)
            start = file.tell()
            before = reader.begin(records, _lines(file, [])) if found.is_partial else 0
            file.seek(start)
            reader.read(records[before:], _lines(file, found.problems), _heard_at(folder, at))
    reader.conclude()
    return found


def _records(folder: str, problems: list[str]) -> list[InputRecord]:
    found: list[InputRecord] = []
    try:
        with open_spool(folder, "in") as file:
            reader = InputReader(file)
            found += reader
    except OSError as error:
        problems.append(f"its input cannot be read: {error.strerror}")
        return found
    if reader.torn is not None:
        problems.append(f"its input ends with {reader.torn}")
    return found


def _skip_hole(file: BinaryIO) -> bool:
    """Go to the first block that the keeper has not given back; whether there was one that it had."""
    try:
        start = os.lseek(file.fileno(), 0, os.SEEK_DATA)
    except OSError:  # nothing but a hole
        start = os.fstat(file.fileno()).st_size
    file.seek(start)
    return start > 0


def _lines(file: BinaryIO, problems: list[str]) -> Iterator[Framed]:
    """The lines from here on, as far as they can be read. A block that was given back in part begins with zeros."""
    framer = Framer()
    zeros = b"\0"
    try:
        while block := file.read(_BLOCK):
            yield from framer.feed(block.lstrip(zeros))
            zeros = b""
    except OSError as error:
        problems.append(f"its output can be read in part only: {error.strerror}")


def _heard_at(folder: str, at: float) -> float:
    """When the agent was last heard; when it was started, where only a copy is left."""
    try:
        return max(at, os.stat(os.path.join(folder, "out")).st_mtime)
    except OSError:
        return at


class _Reader:
    """Folds both spools, and notes what they tell in the order in which it was said."""

    def __init__(self, found: Conversation, dialect: Dialect, attempt: int, at: float) -> None:
        self._found = found
        self._dialect = dialect
        self._attempt = attempt
        self._at = at
        self._heard_at = at
        self._prompts: deque[InputRecord] = deque()
        self._replayed = Replayed()

    def begin(self, records: list[InputRecord], lines: Iterable[Framed]) -> int:
        """Of an output without its beginning: how many messages were sent, and answered, before what is left of it."""
        pairs = [(record.prompt, record.payload) for record in records]
        needed = (self._dialect.needed(line.data, pairs) for line in lines if isinstance(line, Line))
        before = next((number - 1 for number in needed if number), len(records))
        for pair in pairs[:before]:
            self._dialect.sent(*pair)
        self._take_sent(records[:before])
        return before

    def read(self, records: list[InputRecord], lines: Iterable[Framed], heard_at: float) -> None:
        """The rest of both."""
        self._heard_at = heard_at
        pairs = [(record.prompt, record.payload) for record in records]
        self._prompts.extend(records)
        for _, seen in fold(self._dialect, pairs, lines):
            self._note_sent()
            for one in seen:
                self._take(one)
        self._note_sent()

    def conclude(self) -> None:
        """What can only be told at the end."""
        found, state, asked = self._found, self._dialect.open, self._dialect.asked
        if asked is not None:
            found.how, found.asked = _how(asked.how), asked.token
        found.known = self._replayed.texts
        found.can_load = state.initialized is None or state.initialized.can_load or state.initialized.can_resume
        turn = found.turn
        if turn is None:
            return
        turn.said, turn.tools = state.said[-_MOST_SAID:], [tool.words for tool in state.tools]
        if found.is_partial:
            told = f"its older output was given back, so whether prompt {turn.prompt} was answered is not known"
            found.problems.append(told)

    def _note_sent(self) -> None:
        sent = []
        while self._prompts and self._dialect.was_sent(self._prompts[0].prompt):
            sent.append(self._prompts.popleft())
        self._take_sent(sent)

    def _take_sent(self, records: list[InputRecord]) -> None:
        for record in records:
            prompt = self._dialect.prompt_in(record.prompt, record.payload)
            if prompt is not None:
                self._say(record.n, *prompt)

    def _say(self, message: int, prompt: str, text: str) -> None:
        """A prompt is only sent when the turn before it is over: an end that is not there was given back."""
        before, at, number, task = self._found.turn, self._at, self._attempt, task_in(prompt)
        if before is not None:
            over = f.TurnFinished(at=at, attempt=number, prompt=before.prompt, stop_reason="unknown")
            self._found.facts.append(over)
        self._found.facts += [
            f.PromptQueued(at=at, prompt=prompt, text=text, by=OURS if task else "user", of=task),
            f.PromptSent(at=at, attempt=number, prompt=prompt, message=message, text=text),
        ]
        self._found.turn = OpenTurn(prompt, message)

    def _take(self, seen: o.Observation) -> None:
        self._replayed.take(seen)
        turn = self._found.turn
        match as_fact(seen, self._attempt, self._heard_at):
            case f.OpenRefused() as refused:
                self._found.refused = refused
            case (f.TurnFinished() | f.TurnFailed()) as over:
                if turn is not None and over.prompt == turn.prompt:
                    self._found.turn = None
                    self._found.facts.append(over)
            case None:
                self._notice(seen, turn)
            case fact:
                self._found.facts.append(fact)

    def _notice(self, seen: o.Observation, turn: OpenTurn | None) -> None:
        match seen:
            case o.ConversationOpened():
                self._found.opened, self._found.token = _how(seen.how), seen.token
            case o.Said(replay=False) | o.ToolStarted(replay=False) if turn is not None and not turn.began:
                turn.began = True
                self._found.facts.append(f.TurnBegan(at=self._heard_at, attempt=self._attempt, prompt=turn.prompt))


def _how(how: o.How) -> How:
    return "new" if how == "new" else "load"
