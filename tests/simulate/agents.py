"""Agents that take time: how one works through a turn piece by piece, and what it writes to its keeper meanwhile.

The protocol is that of `tests.fakes.keepers`, which the conformance suite holds to the port.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from rekindle.core.session.history import request_of
from rekindle.scripted.failures import describe
from tests.fakes.keepers import FakeAttempt, FakeWorld
from tests.simulate.plans import pieces_in
from tests.simulate.truth import Asked, Begun, Memory, Recalled, Tool
from tests.simulate.virtual import VirtualTime
from tests.simulate.worktrees import Worktrees

#: A prompt of a person says what the agent does: its id, then one word for each piece of the turn.
_SCRIPT = re.compile(r"(p\d+): ([a-z ]+)\Z")
_OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Deny", "kind": "reject_once"},
]
#: How long each piece of a turn takes.
_SECONDS = {"say": 0.02, "tool": 0.5, "build": 20.0, "ask": 0.05, "hang": 0.01}
_FAILURES = ("overflow", "broken")
#: So soon after a prompt a sick agent ends: it may have answered by then, or has not.
SICK_SECONDS = {"die": 0.3, "die at once": 0.01}
#: What each turn uses.
TURN_TOKENS = {"inputTokens": 60, "outputTokens": 40}


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


class AgentWorld(FakeWorld):
    """All agents, and what each of them does and remembers."""

    def __init__(self, time: VirtualTime, random: Random) -> None:
        super().__init__()
        self.time = time
        self.random = random
        self.model: tuple[str, float] | None = None
        #: a limit of the service that all sessions share, and that truly ends then
        self.limit_ends = 0.0
        #: agents end by themselves, soon after they have got a prompt
        self.is_sick = False
        self.sick_seconds = SICK_SECONDS["die"]
        #: by attempt: when its agent said something or was told something, the last two times, and when it last said
        #: something by the wall clock; by session: what turns that ended have used
        self.stirred_at: dict[tuple[str, int], list[float]] = {}
        self.wrote_at: dict[tuple[str, int], float] = {}
        self.used: Counter[str] = Counter()
        self.turns_well: Counter[str] = Counter()
        #: every turn that its agent has ended, and how; every attempt that died in the middle of a turn
        self.turn_ends: list[tuple[str, str]] = []
        self.cut_off: set[tuple[str, int]] = set()
        self.record_lag = 0.0
        self.replays_late = False
        self.got: set[str] = set()
        self.got_at: dict[tuple[str, str], float] = {}
        self.begun: list[Begun] = []
        self.tools: list[Tool] = []
        self.asked: list[Asked] = []
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
        """The wall clock."""
        raise NotImplementedError

    def crash(self, one: FakeAttempt) -> None:
        """An agent ends by itself."""
        raise NotImplementedError

    def refusal(self) -> tuple[str, float] | None:
        """Why the model's service refuses a turn now, and for how long; None: it does not."""
        if self.time.now < self.limit_ends:
            return "rate_limited", self.limit_ends - self.time.now
        return self.model

    def received(self, one: FakeAttempt) -> None:
        """Something is in the agent's input: it reads it in a moment."""
        self.time.later(self.random.choice((0.001, 0.003, 0.02)), lambda: self._read(one))

    def _read(self, one: FakeAttempt) -> None:
        if one.alive and not one.frozen and one.handled < len(one.records):
            record = one.records[one.handled]
            one.handled += 1
            self._stirs(one)
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
                if (turn := self.turns.get(key_of(one))) is not None:
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
        self.opened[key_of(one)] = token
        memory = self.conversations[token]
        assert isinstance(memory, Memory)
        self.loaded[key_of(one)] = [turn.copy() for turn in memory.turns]
        self.due[key_of(one)] = list(memory.ended_well)

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
        self.turns[key_of(one)] = turn
        self.got.add(prompt)
        self.got_at[one.order.session, prompt] = self.time.now
        self.worktrees.prompted(one.order.cwd)
        self.tell(f"the agent of {one.order.session} gets {prompt}")
        self.time.later(self.record_lag, lambda: self._recall(turn))
        self.time.later(self.record_lag + 0.001, lambda: self._go_on(turn))

    def _recall(self, turn: AgentTurn) -> None:
        """The agent writes the prompt down: from now on it has it, whatever happens to its process."""
        if turn.one.alive:
            turn.memory.turns.append(turn.recalled)

    def _is_running(self, turn: AgentTurn) -> bool:
        return turn.one.alive and self.turns.get(key_of(turn.one)) is turn

    def _go_on(self, turn: AgentTurn) -> None:
        if not self._is_running(turn):
            return
        if turn.begun is None:
            one = turn.one
            turn.begun = Begun(one.order.session, one.order.attempt, turn.prompt, turn.recalled.prompt)
            self.begun.append(turn.begun)
            if self.is_sick:
                self.time.later(self.sick_seconds, lambda: self.crash(one))
            if (refusal := self.refusal()) is not None and turn.recalled.prompt != "/compact":
                turn.begun.is_shown = True
                self._failed(turn, *refusal)
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
        request = self._requests[key_of(one)] = self._requests.get(key_of(one), 0) + 1
        title = f"may I do step {turn.number} of {turn.prompt}, attempt {one.order.attempt}?"
        turn.question = Asked(one.order.session, one.order.attempt, title, request, self.time.now)
        self.asked.append(turn.question)
        self.tell(f"the agent of {one.order.session} asks: {title}")
        call = {"toolCallId": f"asked-{request}", "title": title, "kind": "execute"}
        params = {"sessionId": turn.memory.token, "toolCall": call, "options": _OPTIONS}
        body = {"jsonrpc": "2.0", "id": request, "method": "session/request_permission", "params": params}
        self._write(one, body)

    def _answered(self, one: FakeAttempt, request: int, outcome: dict[str, Any]) -> None:
        turn = self.turns.get(key_of(one))
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
        del self.turns[key_of(turn.one)]
        if turn.question is not None:
            turn.question.is_open = False
        if turn.tool is not None:
            turn.tool.is_over = True
        turn.recalled.is_over = True
        if turn.recalled.prompt == "/compact":
            turn.memory.is_compacted = True
        if how == "end_turn":
            turn.memory.ended_well.append(turn.recalled.copy())
            self.turns_well[turn.one.order.session] += turn.recalled.prompt != "/compact"
            self.worktrees.ended(turn.one.order.cwd, turn.one.order.session)
        self.used[turn.one.order.session] += sum(TURN_TOKENS.values())
        self.turn_ends.append((turn.one.order.session, how))
        result = {"stopReason": how, "usage": TURN_TOKENS}
        self._write(turn.one, {"jsonrpc": "2.0", "id": turn.request, "result": result})

    def _failed(self, turn: AgentTurn, kind: str, seconds: float) -> None:
        del self.turns[key_of(turn.one)]
        self.tell(f"the turn of {turn.prompt} fails: {kind}")
        when = datetime.fromtimestamp(self.clock(), UTC)
        code, message, data = describe(kind, seconds or None, when)
        self._fail(turn.one, turn.request, code, message, data)

    def _fail(self, one: FakeAttempt, request: object, code: int, message: str, data: dict[str, Any]) -> None:
        error = {"code": code, "message": message, "data": data}
        self._write(one, {"jsonrpc": "2.0", "id": request, "error": error})

    def _write(self, one: FakeAttempt, message: dict[str, Any]) -> None:
        if one.alive:
            self._stirs(one)
            self.wrote_at[key_of(one)] = self.clock()
            super()._write(one, message)

    def _stirs(self, one: FakeAttempt) -> None:
        stirred = self.stirred_at.setdefault(key_of(one), [])
        if stirred[-1:] != [self.time.now]:
            stirred[:] = [*stirred[-1:], self.time.now]


def key_of(one: FakeAttempt) -> tuple[str, int]:
    return one.order.session, one.order.attempt


def pieces_of(text: str) -> list[str]:
    """What an agent does about a prompt. What rekindle itself says has it look and go on."""
    found = _SCRIPT.match(request_of(text).strip())
    return found[2].split() if found is not None else ["say"]
