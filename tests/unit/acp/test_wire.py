"""The wire against conversations: golden ones, and a live one with the SDK's own agent side."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from rekindle.agents.acp import messages
from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.acp.segment import MOST_SAID
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.base.observation import (
    AgentAskedPermission,
    AgentCompacted,
    AgentFailedTurn,
    AgentFinishedTurn,
    AgentRefusedToOpen,
    CallbackAsked,
    ConversationOpened,
    Initialized,
    Noise,
    Observation,
    Said,
    ToolChanged,
    ToolStarted,
    UserReplayed,
)
from tests.acp_conversations import golden_names, live, plain, read_golden
from tests.spooled import understood


@pytest.mark.parametrize("name", golden_names())
def test_golden(name: str) -> None:
    golden = read_golden(name)
    state, sees = live(golden.steps)
    assert [plain(one) for one in sees] == list(golden.sees)
    assert plain(state) == golden.open


@pytest.mark.parametrize("name", golden_names())
def test_observations_can_be_written_down_and_read_back(name: str) -> None:
    for observed in live(read_golden(name).steps)[1]:
        data = msgspec.json.encode(observed)
        assert msgspec.json.decode(data, type=list[Observation]) == observed


class Talk:
    """A conversation with a real program, recorded as a keeper would."""

    def __init__(self, program: Path) -> None:
        self.wire = AcpDialect(1, "/w")
        self.records: list[tuple[str, bytes]] = []
        self.out = b""
        self._process = subprocess.Popen(
            [sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )

    def send(self, message: Outgoing) -> None:
        assert self._process.stdin
        self.records.append((message.message_id, message.line))
        self.wire.sent(message.message_id, message.line)
        self._process.stdin.write(message.line)

    def hear(self, until: type[Observation]) -> list[Observation]:
        """What the agent says, up to the first observation of that type."""
        assert self._process.stdout
        heard: list[Observation] = []
        while not heard or not isinstance(heard[-1], until):
            line = self._process.stdout.readline()
            assert line, f"the agent ended; heard {heard}"
            self.out += line
            heard += self.wire.received(line.removesuffix(b"\n"))
        # What a daemon would get that starts just now:
        again = AcpDialect(1, "/w")
        afterwards = understood(again, self.records, self.out)
        assert again.open == self.wire.open
        assert afterwards[-len(heard) :] == heard
        return heard

    def close(self) -> None:
        with self._process as process:
            assert process.stdin
            process.stdin.close()
            assert process.wait(timeout=30) == 0


@pytest.fixture
def talk() -> Iterator[Talk]:
    made = Talk(Path(__file__).with_name("sdk_agent.py"))
    yield made
    made.close()


def test_a_conversation_with_the_sdks_agent_side(talk: Talk) -> None:
    talk.send(messages.initialize(1))
    banner, ready = talk.hear(Initialized)
    assert isinstance(banner, Noise)
    assert isinstance(ready, Initialized)
    assert (ready.agent_name, ready.can_load, ready.can_resume) == ("sdk", True, False)

    talk.send(messages.load_session(1, "lost", "/w"))
    (refused,) = talk.hear(AgentRefusedToOpen)
    assert isinstance(refused, AgentRefusedToOpen)
    assert refused.problem == "unknown_session"

    talk.send(messages.resume_session(1, "known", "/w"))
    (refused,) = talk.hear(AgentRefusedToOpen)
    assert isinstance(refused, AgentRefusedToOpen)
    assert refused.problem == "unsupported"

    talk.send(messages.load_session(1, "known", "/w"))
    assert talk.hear(ConversationOpened) == [
        UserReplayed("what I asked"),
        Said("what I was told", False, True),
        ConversationOpened("known", "load"),
    ]

    talk.send(messages.prompt(1, "p1", "known", "go"))
    said, started, asked = talk.hear(AgentAskedPermission)
    assert said == Said("hello", False)
    assert isinstance(started, ToolStarted)
    assert isinstance(asked, AgentAskedPermission)
    assert (asked.title, asked.kind, asked.options[0].kind) == ("Edit", "edit", "allow_once")
    assert list(talk.wire.open.unanswered) == [asked]
    assert [tool.tool_id for tool in talk.wire.open.tools] == ["t1"]

    talk.send(messages.answer(1, asked.request_id, messages.selected("yes")))
    (read,) = talk.hear(CallbackAsked)
    assert isinstance(read, CallbackAsked)
    assert read.method == "fs/read_text_file"
    talk.send(messages.answer(1, read.request_id, {"content": "text"}))
    changed, said, write = talk.hear(CallbackAsked)
    assert isinstance(changed, ToolChanged)
    assert said == Said("selected text", False)
    assert isinstance(write, CallbackAsked)
    talk.send(messages.refuse(1, write.request_id, -32602, "outside"))
    (failed,) = talk.hear(AgentFailedTurn)
    assert isinstance(failed, AgentFailedTurn)
    assert (failed.error_class, failed.message) == ("overloaded", "write failed: outside")
    assert not talk.wire.open.awaiting
    assert not talk.wire.open.unanswered


def test_an_answer_to_another_generation_is_ignored_and_reported() -> None:
    wire = AcpDialect(4, "/w")
    sent = messages.prompt(4, "p1", "s", "x")
    wire.sent(sent.message_id, sent.line)
    before = wire.open
    (noise,) = wire.received(b'{"jsonrpc":"2.0","id":"3-prompt-p1","result":{"stopReason":"end_turn"}}')
    assert isinstance(noise, Noise)
    assert "generation 3" in noise.reason
    assert wire.open == before


def test_a_request_that_is_in_the_spool_is_open_whatever_its_generation() -> None:
    wire = AcpDialect(4, "/w")
    sent = messages.prompt(3, "p1", "s", "x")
    wire.sent(sent.message_id, sent.line)
    (finished,) = wire.received(b'{"jsonrpc":"2.0","id":"3-prompt-p1","result":{"stopReason":"end_turn"}}')
    assert finished == AgentFinishedTurn(prompt_id="p1", stop_reason="end_turn")


def test_a_context_that_falls_by_more_than_half_was_summed_up_and_one_that_grows_was_not() -> None:
    wire = AcpDialect(1, "/w")
    update = '{"method":"session/update","params":{"update":{"sessionUpdate":"usage_update","used":%d,"size":100000}}}'
    seen = [one for used in (50_000, 80_000, 70_000, 9_000, 9_500) for one in wire.received((update % used).encode())]
    assert [one for one in seen if isinstance(one, AgentCompacted)] == [
        AgentCompacted("its context fell from 70000 to 9000 tokens")
    ]


def test_what_was_said_is_bounded() -> None:
    wire = AcpDialect(1, "/w")
    sent = messages.prompt(1, "p1", "s", "x")
    wire.sent(sent.message_id, sent.line)
    update = '{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":%s}}}'
    for n in range(50):
        block = msgspec.json.encode({"type": "text", "text": f"{n:04}" * 1000}).decode()
        wire.received((update % block).encode())
    said = wire.open.said
    assert len(said) == MOST_SAID
    assert said.endswith("0049")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (rb'"cut \ud83d"', "cut \ufffd"),
        (b'"cut \xff"', "cut \ufffd"),
        (rb'"\ud83d\ude42"', "🙂"),
    ],
)
def test_a_cut_character_does_not_cost_the_message(line: bytes, text: str) -> None:
    head = b'{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":'
    assert AcpDialect(1, "/w").received(head + b'{"type":"text","text":' + line + b"}}}}") == [Said(text, False)]


def test_json_that_is_nested_too_deep_is_noise() -> None:
    for line in (b'{"a":' * 100_000, b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b"}"):
        (noise,) = AcpDialect(1, "/w").received(line)
        assert isinstance(noise, Noise)
        assert len(noise.excerpt) <= 200
