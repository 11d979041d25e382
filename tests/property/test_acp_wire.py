"""What is open on the wire does not depend on who was there: live, afterwards, torn anywhere, in any causal order."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.agents.acp import messages
from rekindle.agents.acp.decoding import Request, Response, decode
from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base import fields
from rekindle.agents.base.dialect import OpenState, Outgoing
from rekindle.agents.base.framing import Framer, Line
from tests.acp_conversations import GENERATION, Received, Sent, Step, feed, golden_names, live, read_golden
from tests.spooled import understood

TOKENS = st.sampled_from(["s-1", "s-2"])
TOOLS = st.sampled_from(["t1", "t2", "t3"])
WORDS = st.text(max_size=5)


def folded(steps: tuple[Step, ...], generation: int = GENERATION) -> OpenState:
    """What a daemon gets that comes afterwards and has the two spools only."""
    wire = AcpDialect(generation, "/w")
    records = [(step.message_id, step.line) for step in steps if isinstance(step, Sent)]
    out = b"".join(step.line + b"\n" for step in steps if isinstance(step, Received))
    understood(wire, records, out)
    return wire.open


def numbered(message: Outgoing, number: int) -> Outgoing:
    """The same request as a message of its own."""
    name = f"{message.message_id}.{number}"
    return Outgoing(name, json.dumps({**json.loads(message.line), "id": name}).encode() + b"\n")


@st.composite
def updates(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "plan"]))
    if kind.endswith("chunk"):
        return {"sessionUpdate": kind, "content": {"type": "text", "text": draw(WORDS)}}
    if kind == "plan":
        return {"sessionUpdate": kind, "entries": []}
    status = draw(st.sampled_from([None, "pending", "in_progress", "completed", "failed"]))
    return {"sessionUpdate": kind, "toolCallId": draw(TOOLS), "title": "t", "status": status}


class Conversation:
    """Plays both sides by the rules of the protocol, with every choice drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.steps: list[Step] = []
        self.waiting: list[tuple[str, str]] = []
        self.asked: list[int] = []
        self.requests = 0
        self.prompts = 0
        self.opens = 0
        self.token: str | None = None

    def send(self, message: Outgoing) -> None:
        self.steps.append(Sent(message.message_id, message.line))
        sent = decode(message.line)
        if isinstance(sent, Request):
            self.waiting.append((message.message_id, sent.method))

    def hear(self, value: object) -> None:
        self.steps.append(Received(json.dumps(value).encode()))

    def step(self) -> None:
        choices = ["update", "noise", "open"]
        choices += ["respond"] * 2 if self.waiting else []
        choices += ["prompt", "ask"] if self.token else []
        choices += ["answer"] * 2 if self.asked else []
        getattr(self, self.draw(st.sampled_from(choices)))()

    def update(self) -> None:
        token = self.token or "s-1"
        params = {"sessionId": token, "update": self.draw(updates())}
        self.hear({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def noise(self) -> None:
        self.steps.append(Received(self.draw(st.sampled_from([b"hello", b"{}", b"", b'{"id":"2-x","result":1}']))))

    def open(self) -> None:
        self.opens += 1
        if self.draw(st.booleans()):
            self.send(numbered(messages.new_session(GENERATION, "/w"), self.opens))
        else:
            self.send(numbered(messages.load_session(GENERATION, self.token or "s-1", "/w"), self.opens))

    def prompt(self) -> None:
        assert self.token
        self.prompts += 1
        self.send(messages.prompt(GENERATION, f"p{self.prompts}", self.token, "x"))
        if self.draw(st.booleans()):
            self.send(messages.cancel(GENERATION, f"p{self.prompts}", self.token))

    def ask(self) -> None:
        again = self.draw(st.integers(0, 5)) == 0 and self.requests > 0
        request_id = self.draw(st.integers(0, self.requests - 1)) if again else self.requests
        if not again:
            self.asked.append(request_id)
            self.requests += 1
        method = self.draw(st.sampled_from(["fs/read_text_file", "session/request_permission"]))
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
        params = {"toolCall": {"toolCallId": self.draw(TOOLS)}, "options": options}
        self.hear({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def answer(self) -> None:
        request_id = self.asked.pop(self.draw(st.integers(0, len(self.asked) - 1)))
        answers = [{}, messages.CANCELLED, messages.selected("allow_once"), messages.selected("reject_once")]
        self.send(messages.answer(GENERATION, request_id, self.draw(st.sampled_from(answers))))

    def respond(self) -> None:
        name, method = self.waiting.pop(self.draw(st.integers(0, len(self.waiting) - 1)))
        if self.draw(st.integers(0, 4)) == 0:
            self.hear({"jsonrpc": "2.0", "id": name, "error": {"code": -32603, "message": "no"}})
            return
        self.hear({"jsonrpc": "2.0", "id": name, "result": {"sessionId": "s-1", "stopReason": "end_turn"}})
        if method in ("session/new", "session/load"):
            self.token = "s-1"


@st.composite
def conversations(draw: st.DrawFn) -> tuple[Step, ...]:
    conversation = Conversation(draw)
    conversation.send(messages.initialize(GENERATION))
    for _ in range(draw(st.integers(0, 40))):
        conversation.step()
    return tuple(conversation.steps)


def causes(steps: tuple[Step, ...]) -> dict[int, int]:
    """For the index of an answer, the index of the request that it answers (in the other spool)."""
    ours: dict[str, int] = {}
    theirs: dict[str, int] = {}
    found: dict[int, int] = {}
    for index, step in enumerate(steps):
        message = decode(step.line)
        mine, others = (ours, theirs) if isinstance(step, Sent) else (theirs, ours)
        if isinstance(message, Request):
            mine.setdefault(fields.key(message.request_id), index)
        elif isinstance(message, Response) and fields.key(message.request_id) in others:
            found[index] = others[fields.key(message.request_id)]
    return found


@st.composite
def shuffled(draw: st.DrawFn, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The same spools, otherwise interleaved: each in its own order, an answer behind its request."""
    caused = causes(steps)
    queues = [[i for i, step in enumerate(steps) if isinstance(step, kind)] for kind in (Sent, Received)]
    done: set[int] = set()
    order: list[Step] = []
    while any(queues):
        ready = [queue for queue in queues if queue and caused.get(queue[0], -1) in done | {-1}]
        index = draw(st.sampled_from(ready)).pop(0)
        done.add(index)
        order.append(steps[index])
    return tuple(order)


@given(steps=conversations(), data=st.data())
def test_every_causal_order_gives_the_same_open_state(steps: tuple[Step, ...], data: st.DataObject) -> None:
    expected = live(steps)[0]
    assert live(data.draw(shuffled(steps)))[0] == expected
    assert folded(steps) == expected


@given(steps=conversations(), data=st.data())
def test_the_fold_of_the_spools_is_the_live_fold_at_every_moment(steps: tuple[Step, ...], data: st.DataObject) -> None:
    moment = data.draw(st.integers(0, len(steps)))
    assert folded(steps[:moment]) == live(steps[:moment])[0]


@given(steps=conversations())
def test_a_message_that_is_told_twice_changes_nothing(steps: tuple[Step, ...]) -> None:
    wire = AcpDialect(GENERATION, "/w")
    for step in steps:
        feed(wire, step)
        if isinstance(step, Sent):
            feed(wire, step)
    for step in steps:
        if isinstance(step, Sent):
            feed(wire, step)
    assert wire.open == live(steps)[0]


@pytest.mark.parametrize("name", golden_names())
def test_a_spool_that_is_torn_at_any_byte_gives_the_state_of_its_whole_lines(name: str) -> None:
    steps = read_golden(name).steps
    before: list[Step] = []
    for step in steps:
        whole = live(tuple(before))[0]
        if isinstance(step, Received):
            done = b"".join(one.line + b"\n" for one in before if isinstance(one, Received))
            for size in range(len(step.line) + 1):
                wire = AcpDialect(GENERATION, "/w")
                sent = [(one.message_id, one.line) for one in before if isinstance(one, Sent)]
                understood(wire, sent, done + step.line[:size])
                assert wire.open == whole
                lines = Framer().feed(done + step.line[:size])
                assert (lines[-1].end if lines else 0) == len(done)
        before.append(step)


@pytest.mark.parametrize("name", golden_names())
def test_the_golden_conversations_fold_afterwards_as_they_did_live(name: str) -> None:
    steps = read_golden(name).steps
    for moment in range(len(steps) + 1):
        assert folded(steps[:moment]) == live(steps[:moment])[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "id",
        "method",
        "params",
        "result",
        "error",
        "sessionId",
        "update",
        "sessionUpdate",
        "content",
        "toolCall",
        "options",
    ]
)
VALUES = JSON | st.sampled_from(
    ["session/update", "session/request_permission", "3-initialize", "3-new", "3-prompt-p1", "s-1", "tool_call", "plan"]
)
ODD = st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES | st.dictionaries(KEYS, VALUES)))


@given(lines=st.lists(ODD.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=30), max_size=12))
def test_any_bytes_are_folded_without_an_exception(lines: list[bytes]) -> None:
    wire = AcpDialect(GENERATION, "/w")
    for message in (
        messages.initialize(3),
        messages.new_session(3, "/w"),
        messages.prompt(3, "p1", "s-1", "x"),
    ):
        wire.sent(message.message_id, message.line)
    for at, line in enumerate(lines):
        for observed in wire.received(line):
            assert msgspec.json.encode(observed)  # can be written down
        wire.sent(f"odd-{at}", line)
    assert isinstance(wire.open, OpenState)


@given(text=st.binary(max_size=300), size=st.integers(1, 50))
def test_the_framer_loses_no_byte(text: bytes, size: int) -> None:
    framer = Framer()
    lines = [one for at in range(0, len(text), size) for one in framer.feed(text[at : at + size])]
    whole = b"".join(one.data + b"\n" for one in lines if isinstance(one, Line))
    assert whole + text[lines[-1].end if lines else 0 :] == text
