"""What is known of a turn that was cut, and how long an agent has been silent."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rekindle.agents.acp import messages
from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.observation import OpenTool
from rekindle.agents.base.transcript import Record
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.keepers import Ended
from rekindle.runtime.talk import Talk
from tests.sessions import created, folded

KIND = AgentKind("fake", "Fake", lambda _start: ("fake",), AcpDialect)
UPDATE = b'{"method":"session/update","params":{"sessionId":"tok","update":%s}}\n'
TOLD = UPDATE % b'{"sessionUpdate":"tool_call","toolCallId":"c","title":"make all"}'
ENDED = UPDATE % b'{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}'
ASKED = b'{"id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c"},"options":[]}}\n'


def written(*prompts: str) -> Record:
    tool = OpenTool(tool_id="c", title="run make", kind="execute", paths=(), status="pending")
    return Record(prompts=prompts, open_tools=(tool,))


def in_turn() -> Session:
    """A session whose agent was told to do something at 6."""
    return folded(
        [
            created(),
            f.PromptQueued(at=2, prompt="p", text="do it"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="tok"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="tok"),
            f.PromptSent(at=6, attempt=1, prompt="p", message=3, text="do it"),
        ]
    )


@pytest.mark.parametrize(
    ("heard", "record", "tools", "done", "asked_for"),
    [
        (b"", written("before", "do it"), ["run make"], [], []),
        (TOLD, written("before", "do it"), ["make all"], [], []),
        (TOLD + ENDED, written("before", "do it"), [], ["run make"], []),
        (TOLD + ENDED, written("before"), [], [], []),
        (TOLD + ASKED, written("before", "do it"), [], [], ["make all"]),
        (ASKED, written("before", "do it"), [], [], []),
        (b"", written("before"), [], [], []),
        (b"", None, [], [], []),
    ],
    ids=[
        "not told",
        "told",
        "told that it ended",
        "ended",
        "told and asked for",
        "only asked for",
        "another turn",
        "none",
    ],
)
def test_a_tool_that_only_the_record_knows_of_was_running_too(
    heard: bytes, record: Record | None, tools: list[str], done: list[str], asked_for: list[str]
) -> None:
    session = in_turn()
    talk = Talk(session, 1, KIND, clock=lambda: 9.0, resolve=lambda _cwd, paths: [*paths])
    sent = messages.prompt(1, "p", "tok", "do it")
    talk.wire.sent(sent.message_id, sent.line)
    talk.feed(heard)
    cut = talk.ended(Ended("killed", False, 3, 3), session, record).cut
    assert cut is not None
    assert (cut.tools, cut.done, cut.asked_for) == (tools, done, asked_for)


@dataclass
class Clocks:
    """A wall clock that can be set, and a steady one."""

    wall: float = 1000.0
    steady: float = 50.0

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds

    def talk(self, heard_at: float | None = None, silent_since: float | None = None) -> Talk:
        return Talk(
            in_turn(),
            1,
            KIND,
            clock=lambda: self.wall,
            resolve=lambda _cwd, paths: [*paths],
            heard_at=heard_at,
            steady=lambda: self.steady,
            silent_since=silent_since,
        )


SAID = UPDATE % b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hm"}}'


@pytest.mark.parametrize("by", [-7200.0, 7200.0])
def test_silence_is_counted_by_a_clock_that_nobody_can_set(by: float) -> None:
    clocks = Clocks()
    talk = clocks.talk()
    clocks.wall += by
    clocks.pass_by(10.0)
    assert talk.silent_seconds() == 10.0
    talk.feed(SAID)
    clocks.wall -= by
    clocks.pass_by(20.0)
    assert talk.silent_seconds() == 20.0


def test_an_agent_at_rest_is_not_silent_and_its_silence_begins_with_what_it_is_told() -> None:
    clocks = Clocks()
    talk = clocks.talk()
    clocks.pass_by(300.0)
    talk.sent(messages.prompt(1, "p2", "tok", "more"))
    clocks.pass_by(2.0)
    assert talk.silent_seconds() == 2.0


def test_a_daemon_that_takes_over_counts_the_silence_from_what_was_last_said_or_told() -> None:
    clocks = Clocks(wall=100.0)
    assert clocks.talk(heard_at=70.0).silent_seconds() == 30.0
    assert clocks.talk(heard_at=1.0).silent_seconds() == 94.0, "it was told something at 6"
    assert clocks.talk(heard_at=5000.0).silent_seconds() == 0.0, "the clock was set back since"


def test_who_follows_an_agent_again_counts_its_silence_on_even_if_the_clock_was_set_meanwhile() -> None:
    clocks = Clocks()
    before = clocks.talk(heard_at=1000.0)
    clocks.pass_by(10.0)
    clocks.wall += 7200.0
    assert clocks.talk(heard_at=1000.0, silent_since=before.silent_since).silent_seconds() == 10.0
