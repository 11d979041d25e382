"""The world of a simulation: a machine with its clock, its disk, a model's service, and agents that take time.

Keepers and the agents' protocol are those of `tests.fakes.keepers`, which the conformance suite holds to the port. Here
an agent works through a turn piece by piece, in virtual time, and the world writes down what truly happened: that is
what everything that is told to people is held against.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

from rekindle.core.session.history import request_of
from rekindle.ports.errors import RekindleError
from rekindle.ports.keepers import AttemptOrder, StartedAttempt
from rekindle.scripted.failures import describe
from tests.fakes.keepers import Conversation, FakeAttempt, FakeKeepers, FakeWorld
from tests.simulate.plans import pieces_in
from tests.simulate.virtual import VirtualTime
from tests.simulate.worktrees import Worktrees

#: When a simulation begins, by the wall clock.
EPOCH = 1_800_000_000.0
#: A prompt of a person says what the agent does: its id, then one word for each piece of the turn.
_SCRIPT = re.compile(r"(p\d+): ([a-z ]+)\Z")
_OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]
#: How long each piece of a turn takes.
_SECONDS = {"say": 0.02, "tool": 0.5, "build": 20.0, "ask": 0.05, "hang": 0.01}
_FAILURES = ("overflow", "broken")


@dataclass
class Recalled:
    """A turn as the agent's own record has it."""

    prompt: str
    said: list[str] = field(default_factory=list)
    is_over: bool = False

    def copy(self) -> Recalled:
        return Recalled(self.prompt, list(self.said), self.is_over)


class Memory(Conversation):
    """A conversation with its answers. `ended_well`: every turn that ever ended well in it, whatever is kept of it."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.turns: list[Recalled] = []
        self.ended_well: list[Recalled] = []
        self.is_compacted = False


@dataclass
class Tool:
    """A tool call: what it does happens when it begins, and nobody can take it back."""

    session: str
    attempt: int
    title: str
    is_over: bool = False


@dataclass
class Asked:
    """A question that an agent has put to a person. `option`: how it was answered, as the agent was told."""

    session: str
    attempt: int
    title: str
    request: int
    at: float
    option: str | None = None
    is_open: bool = True


@dataclass
class AgentTurn:
    """A turn under way in an agent."""

    one: FakeAttempt
    request: object
    prompt: str
    memory: Memory
    pieces: list[str]
    recalled: Recalled
    number: int = 0
    question: Asked | None = None
    tool: Tool | None = None
    is_cancelled: bool = False
    begun: Begun | None = None


@dataclass
class Begun:
    """An agent has got a prompt. `is_shown`: it has said or begun something, so that nobody may send it again."""

    session: str
    attempt: int
    prompt: str
    text: str
    is_shown: bool = False


class SimulatedWorld(FakeWorld):
    """`truth` is everything that happened, in words, for the story."""

    def __init__(self, time: VirtualTime, random: Random) -> None:
        super().__init__()
        self.time = time
        self.random = random
        self.jumped = 0.0
        self.syncs = "fast"
        self.failed_syncs = 0
        self.failing_starts = 0
        self.model: tuple[str, float] | None = None
        self.record_lag = 0.0
        self.post_seconds = 0.0
        self.has_plans = False
        self.gates: list[tuple[str, str]] = []
        self._runs = 0
        self.replays_late = False
        self.got: set[str] = set()
        self.begun: list[Begun] = []
        self.tools: list[Tool] = []
        self.asked: list[Asked] = []
        self.died_at: dict[str, float] = {}
        self.opened: dict[tuple[str, int], str] = {}
        #: by attempt: what its agent has opened, and all that ever ended well in that conversation
        self.loaded: dict[tuple[str, int], list[Recalled]] = {}
        self.due: dict[tuple[str, int], list[Recalled]] = {}
        self.turns: dict[tuple[str, int], AgentTurn] = {}
        self.tell: Callable[[str], None] = lambda _line: None
        self.worktrees = Worktrees(lambda line: self.tell(line))
        self._requests: dict[tuple[str, int], int] = {}
        self._conversations = 0

    def clock(self) -> float:
        """The wall clock, which may be set."""
        return EPOCH + self.time.now + self.jumped

    def new_sid(self) -> str:
        """The name of a new run."""
        self._runs += 1
        return f"{0xA0000000 + self._runs:08x}"

    # what people and machines do to it

    def kill(self, session: str, how: str = "killed by SIGKILL") -> None:
        for (name, number), one in self.attempts.items():
            if name == session and one.alive:
                self.tell(f"the agent of {name} (attempt {number}) is dead: {how}")
        super().kill(session, how)
        self._died(session)

    def forget(self, session: str) -> None:
        """The agent loses its newest conversation."""
        for token in self._tokens(session)[-1:]:
            self.conversations.pop(token, None)

    def damage(self, session: str) -> None:
        """The agent's record loses its oldest turn."""
        for token in self._tokens(session)[-1:]:
            found = self.conversations.get(token)
            if isinstance(found, Memory) and found.turns:
                del found.turns[0]

    def _tokens(self, session: str) -> list[str]:
        return [token for (name, _), token in self.opened.items() if name == session]

    # agents

    def received(self, one: FakeAttempt) -> None:
        """Something is in the agent's input: it reads it in a moment."""
        self.time.later(self.random.choice((0.001, 0.003, 0.02)), lambda: self._read(one))

    def ending(self, one: FakeAttempt) -> None:
        """The agent is asked to end, and does in a moment."""
        self.time.later(self.random.choice((0.005, 0.1)), lambda: self._end(one))

    def _end(self, one: FakeAttempt) -> None:
        if one.alive:
            one.die(f"stopped ({one.stop_reason})", by_us=True)
            self._died(one.order.session)

    def _died(self, session: str) -> None:
        self.died_at[session] = self.time.now
        for key, turn in list(self.turns.items()):
            if not turn.one.alive:
                del self.turns[key]
        for asked in self.asked:
            if asked.session == session and not self._is_alive(session, asked.attempt):
                asked.is_open = False
        for (name, _), one in self.attempts.items():
            if name == session and not one.alive and one.ended is None:
                self.time.later(0.3, partial(_swept, one))

    def _is_alive(self, session: str, attempt: int) -> bool:
        found = self.attempts.get((session, attempt))
        return found is not None and found.alive

    def _read(self, one: FakeAttempt) -> None:
        if one.alive and not one.frozen and one.handled < len(one.records):
            record = one.records[one.handled]
            one.handled += 1
            self._hear(one, record.payload)

    def _handle(self, one: FakeAttempt, message: dict[str, Any]) -> None:
        match message:
            case {"method": "session/new"}:
                self._new(one, message)
            case {"method": "session/load", "params": {"sessionId": str(token)}}:
                self._load(one, message, token)
            case {"method": "session/prompt"}:
                self._prompted(one, message)
            case {"method": "session/cancel"}:
                if (turn := self.turns.get(_key(one))) is not None:
                    turn.is_cancelled = True
                    if turn.question is None:
                        self._over(turn, "cancelled")
            case {"id": int(request), "result": {"outcome": dict(outcome)}}:
                self._answered(one, request, outcome)
            case _:
                super()._handle(one, message)

    def _new(self, one: FakeAttempt, message: dict[str, Any]) -> None:
        self._conversations += 1
        token = f"conv-{self._conversations}"
        self.conversations[token] = Memory(token)
        self._open(one, token)
        self._answer(one, message, {"sessionId": token})

    def _open(self, one: FakeAttempt, token: str) -> None:
        self.opened[_key(one)] = token
        memory = self.conversations[token]
        assert isinstance(memory, Memory)
        self.loaded[_key(one)] = [turn.copy() for turn in memory.turns]
        self.due[_key(one)] = list(memory.ended_well)

    def _load(self, one: FakeAttempt, message: dict[str, Any], token: str) -> None:
        found = self.conversations.get(token)
        if not isinstance(found, Memory):
            self._fail(one, message["id"], -32002, "session not found", {})
            return
        self._open(one, token)
        if self.replays_late:
            self._answer(one, message, {})
        for turn in found.turns:
            self._update(one, token, "user_message_chunk", turn.prompt)
            for words in turn.said:
                self._update(one, token, "agent_message_chunk", words)
        if not self.replays_late:
            self._answer(one, message, {})

    def _prompted(self, one: FakeAttempt, message: dict[str, Any]) -> None:
        token, text = message["params"]["sessionId"], message["params"]["prompt"][0]["text"]
        prompt = str(message["id"]).partition("-prompt-")[2]
        memory = self.conversations.get(token)
        if not isinstance(memory, Memory):
            self._fail(one, message["id"], -32002, "session not found", {})
            return
        pieces = pieces_in(request_of(text), one.order.cwd)
        turn = AgentTurn(
            one, message["id"], prompt, memory, pieces_of(text) if pieces is None else pieces, Recalled(text)
        )
        self.turns[_key(one)] = turn
        self.got.add(prompt)
        self.tell(f"the agent of {one.order.session} gets {prompt}")
        self.time.later(self.record_lag, lambda: self._recall(turn))
        self.time.later(self.record_lag + 0.001, lambda: self._go_on(turn))

    def _recall(self, turn: AgentTurn) -> None:
        """The agent writes the prompt down: from now on it has it, whatever happens to its process."""
        if turn.one.alive:
            turn.memory.turns.append(turn.recalled)

    def _is_running(self, turn: AgentTurn) -> bool:
        return turn.one.alive and self.turns.get(_key(turn.one)) is turn

    def _go_on(self, turn: AgentTurn) -> None:
        if not self._is_running(turn):
            return
        if turn.begun is None:
            one = turn.one
            turn.begun = Begun(one.order.session, one.order.attempt, turn.prompt, turn.recalled.prompt)
            self.begun.append(turn.begun)
            if self.model is not None and turn.recalled.prompt != "/compact":
                turn.begun.is_shown = True
                self._failed(turn, *self.model)
                return
        if not turn.pieces:
            self._over(turn, "end_turn")
            return
        piece = turn.pieces.pop(0)
        turn.number += 1
        turn.begun.is_shown = turn.begun.is_shown or piece not in ("ask", "hang")
        if piece in ("tool", "build"):
            self._begin_tool(turn, piece)
        elif piece == "ask":
            self._ask(turn)
        elif piece in _FAILURES:
            self._failed(turn, "context_overflow" if piece == "overflow" else "other", 0.0)
        elif piece != "hang":
            is_plain = piece == "say"
            said = f"answer {turn.number} to {turn.prompt}. " if is_plain else self._touch(turn, piece)
            self._say(turn, said)
            self.time.later(_SECONDS["say"], lambda: self._go_on(turn))

    def _touch(self, turn: AgentTurn, piece: str) -> str:
        return self.worktrees.do(piece, turn.one.order.cwd, turn.one.order.session)

    def _say(self, turn: AgentTurn, words: str) -> None:
        turn.recalled.said.append(words)
        self._update(turn.one, turn.memory.token, "agent_message_chunk", words)

    def _begin_tool(self, turn: AgentTurn, piece: str) -> None:
        one = turn.one
        title = f"{piece} {turn.number} of {turn.prompt} in attempt {one.order.attempt}"
        turn.tool = Tool(one.order.session, one.order.attempt, title)
        self.tools.append(turn.tool)
        self.tell(f"the agent of {one.order.session} begins: {title}")
        self._tool_update(turn, "tool_call", "in_progress")
        self.time.later(_SECONDS[piece], lambda: self._end_tool(turn))

    def _end_tool(self, turn: AgentTurn) -> None:
        if not self._is_running(turn) or turn.tool is None:
            return
        self._tool_update(turn, "tool_call_update", "completed")
        turn.tool.is_over = True
        turn.tool = None
        self._go_on(turn)

    def _tool_update(self, turn: AgentTurn, kind: str, status: str) -> None:
        assert turn.tool is not None
        update = {"sessionUpdate": kind, "toolCallId": turn.tool.title, "title": turn.tool.title, "status": status}
        about = {"sessionId": turn.memory.token, "update": {**update, "kind": "execute"}}
        self._write(turn.one, {"jsonrpc": "2.0", "method": "session/update", "params": about})

    def _ask(self, turn: AgentTurn) -> None:
        one = turn.one
        request = self._requests[_key(one)] = self._requests.get(_key(one), 0) + 1
        title = f"may I do step {turn.number} of {turn.prompt}, attempt {one.order.attempt}?"
        turn.question = Asked(one.order.session, one.order.attempt, title, request, self.time.now)
        self.asked.append(turn.question)
        self.tell(f"the agent of {one.order.session} asks: {title}")
        call = {"toolCallId": f"asked-{request}", "title": title, "kind": "execute"}
        params = {"sessionId": turn.memory.token, "toolCall": call, "options": _OPTIONS}
        body = {"jsonrpc": "2.0", "id": request, "method": "session/request_permission", "params": params}
        self._write(one, body)

    def _answered(self, one: FakeAttempt, request: int, outcome: dict[str, Any]) -> None:
        turn = self.turns.get(_key(one))
        if turn is None or turn.question is None or turn.question.request != request:
            return
        asked, turn.question = turn.question, None
        asked.is_open = False
        asked.option = outcome.get("optionId")
        if asked.option is not None:
            self.tell(f"the agent of {one.order.session} is told {asked.option}: {asked.title}")
        if turn.is_cancelled:
            self._over(turn, "cancelled")
            return
        assert turn.begun is not None
        turn.begun.is_shown = True
        over = {"sessionUpdate": "tool_call_update", "toolCallId": f"asked-{request}", "status": "completed"}
        about = {"sessionId": turn.memory.token, "update": over}
        self._write(one, {"jsonrpc": "2.0", "method": "session/update", "params": about})
        self.time.later(_SECONDS["ask"], lambda: self._go_on(turn))

    def _over(self, turn: AgentTurn, how: str) -> None:
        del self.turns[_key(turn.one)]
        if turn.question is not None:
            turn.question.is_open = False
        if turn.tool is not None:
            turn.tool.is_over = True
        turn.recalled.is_over = True
        if turn.recalled.prompt == "/compact":
            turn.memory.is_compacted = True
        if how == "end_turn":
            turn.memory.ended_well.append(turn.recalled.copy())
            self.worktrees.ended(turn.one.order.cwd, turn.one.order.session)
        self._write(turn.one, {"jsonrpc": "2.0", "id": turn.request, "result": {"stopReason": how}})

    def _failed(self, turn: AgentTurn, kind: str, seconds: float) -> None:
        del self.turns[_key(turn.one)]
        self.tell(f"the turn of {turn.prompt} fails: {kind}")
        when = datetime.fromtimestamp(self.clock(), UTC)
        code, message, data = describe(kind, seconds or None, when)
        self._fail(turn.one, turn.request, code, message, data)

    def _fail(self, one: FakeAttempt, request: object, code: int, message: str, data: dict[str, Any]) -> None:
        error = {"code": code, "message": message, "data": data}
        self._write(one, {"jsonrpc": "2.0", "id": request, "error": error})

    def _write(self, one: FakeAttempt, message: dict[str, Any]) -> None:
        if one.alive:
            super()._write(one, message)


def _swept(one: FakeAttempt) -> None:
    if one.ended is None:
        one.sweep()


def _key(one: FakeAttempt) -> tuple[str, int]:
    return one.order.session, one.order.attempt


def pieces_of(text: str) -> list[str]:
    """What an agent does about a prompt. What rekindle itself says has it look and go on."""
    found = _SCRIPT.match(request_of(text).strip())
    return found[2].split() if found is not None else ["say"]


def said_by(texts: Iterable[Recalled]) -> list[tuple[str, str]]:
    """Turns in short, to compare them."""
    return [(one.prompt, "".join(one.said)) for one in texts]


class SimulatedKeepers(FakeKeepers):
    """Keepers that take a moment. One daemon's: when that is dead, nobody can use them any more."""

    def __init__(self, world: SimulatedWorld) -> None:
        super().__init__(world)
        self._simulated = world
        self.is_dead = False

    async def _moment(self, seconds: float = 0.002) -> None:
        assert not self.is_dead, "a dead daemon acts"
        await asyncio.sleep(seconds)
        assert not self.is_dead, "a dead daemon acts"

    async def launch(self, order: AttemptOrder) -> StartedAttempt:
        await self._moment(0.03)
        is_new = (order.session, order.attempt) not in self.world.attempts
        if is_new and self._simulated.failing_starts and not self.world.is_taken(order.session):
            self._simulated.failing_starts -= 1
            one = self.world.attempts[order.session, order.attempt] = FakeAttempt(order, generation=order.generation)
            one.alive = one.ran = False
            one.die("it never ran")
            self._simulated.tell(f"the start of attempt {order.attempt} of {order.session} fails")
            raise RekindleError("its guard was killed while it was starting")
        started = await super().launch(order)
        if is_new:
            self._simulated.tell(f"attempt {order.attempt} of {order.session} is started")
        await self._moment(0.01)
        return started

    async def connect(self, session: str, attempt: int, generation: int) -> bool:
        await self._moment()
        return await super().connect(session, attempt, generation)

    async def send(self, session: str, attempt: int, message: str, payload: bytes) -> int:
        await self._moment()
        one = self.world.attempts.get((session, attempt))
        before = len(one.records) if one is not None else 0
        number = await super().send(session, attempt, message, payload)
        if one is not None and len(one.records) > before:
            self._simulated.received(one)
        await self._moment()
        return number

    async def end(self, session: str, attempt: int, reason: str) -> None:
        await self._moment()
        await super().end(session, attempt, reason)
        one = self.world.attempts.get((session, attempt))
        if one is not None and one.alive:
            self._simulated.ending(one)
