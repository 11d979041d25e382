"""What is known of a turn that was cut: what the agent told, and what it wrote down and did not live to tell."""

from __future__ import annotations

import pytest

from rekindle.agents.acp import messages
from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.kind import AgentKind
from rekindle.agents.base.observation import OpenTool
from rekindle.agents.base.transcript import Record
from rekindle.core.session import facts as f
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
    session = folded(
        [
            created(),
            f.PromptQueued(at=2, prompt="p", text="do it"),
            f.LaunchIntended(at=3, attempt=1, generation=1, how="new", token="tok"),
            f.Launched(at=4, attempt=1, folder="/k/1", pid=1),
            f.Opened(at=5, attempt=1, how="new", token="tok"),
            f.PromptSent(at=6, attempt=1, prompt="p", message=3, text="do it"),
        ]
    )
    talk = Talk(session, 1, KIND, clock=lambda: 9.0, resolve=lambda _cwd, paths: [*paths])
    sent = messages.prompt(1, "p", "tok", "do it")
    talk.wire.sent(sent.message_id, sent.line)
    talk.feed(heard)
    cut = talk.ended(Ended("killed", False, 3, 3), session, record).cut
    assert cut is not None
    assert (cut.tools, cut.done, cut.asked_for) == (tools, done, asked_for)
