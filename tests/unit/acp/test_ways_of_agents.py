"""What single agents do beside the protocol: cancel by themselves, resume silently, call a failure a success."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base import observation as o
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.codex.dialect import CodexDialect


def tell(dialect: AcpDialect, **message: Any) -> list[o.Observation]:
    return dialect.received(json.dumps({"jsonrpc": "2.0", **message}).encode())


def send(dialect: AcpDialect, *messages: Outgoing) -> list[str]:
    for one in messages:
        dialect.sent(one.message_id, one.line)
    return [str(json.loads(one.line).get("method")) for one in messages]


def prompting(dialect: AcpDialect) -> AcpDialect:
    """A turn is running in which something was said."""
    send(dialect, *dialect.begin("new", None))
    [seen] = tell(dialect, id="1-initialize", result={"protocolVersion": 1, "agentCapabilities": {}})
    send(dialect, *dialect.follow_up(seen))
    tell(dialect, id="1-new", result={"sessionId": "t"})
    send(dialect, dialect.say("p1", "do it"))
    words = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I was"}}
    tell(dialect, method="session/update", params={"sessionId": "t", "update": words})
    return dialect


def asks(dialect: AcpDialect) -> None:
    tool = {"toolCallId": "c", "title": "rm", "kind": "execute"}
    options = [
        {"optionId": "no", "name": "No", "kind": "reject_once"},
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    ]
    params = {"sessionId": "t", "toolCall": tool, "options": options}
    tell(dialect, id=7, method="session/request_permission", params=params)


def test_a_turn_that_the_agent_cancels_by_itself_stays_open_with_its_words() -> None:
    dialect = prompting(AcpDialect(1, "/w"))
    [seen] = tell(dialect, id="1-prompt-p1", result={"stopReason": "cancelled"})
    assert isinstance(seen, o.Noise)
    assert dialect.open.prompt_id == "p1"
    assert dialect.open.said == "I was"


def test_a_turn_that_we_cancel_ends() -> None:
    dialect = prompting(AcpDialect(1, "/w"))
    send(dialect, *dialect.cancel("p1"))
    [seen] = tell(dialect, id="1-prompt-p1", result={"stopReason": "cancelled"})
    assert isinstance(seen, o.AgentFinishedTurn)


def test_a_turn_may_be_cancelled_because_of_our_answer() -> None:
    dialect = prompting(AcpDialect(1, "/w"))
    asks(dialect)
    answer = dialect.answer("7", "no")
    assert answer is not None
    send(dialect, answer)
    [seen] = tell(dialect, id="1-prompt-p1", result={"stopReason": "cancelled"})
    assert isinstance(seen, o.AgentFinishedTurn)


def test_what_a_question_tells_of_a_tool_is_kept() -> None:
    """Qwen Code calls every command "Shell" until it asks for permission."""
    dialect = prompting(AcpDialect(1, "/w"))
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Shell", "rawInput": {}}
    tell(dialect, method="session/update", params={"sessionId": "t", "update": call})
    asks(dialect)
    assert [(tool.title, tool.kind) for tool in dialect.open.tools] == [("rm", "execute")]


def answered(option: str | None) -> AcpDialect:
    """An agent that tells of its tool only by asking for permission, as Gemini CLI does."""
    dialect = prompting(AcpDialect(1, "/w"))
    asks(dialect)
    assert dialect.open.tools == (), "nothing runs that nobody has allowed"
    answer = dialect.answer("7", option)
    assert answer is not None
    send(dialect, answer)
    return dialect


def test_a_tool_that_was_only_asked_for_runs_once_it_is_allowed() -> None:
    dialect = answered("yes")
    assert [tool.title for tool in dialect.open.tools] == ["rm"]
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}
    tell(dialect, method="session/update", params={"sessionId": "t", "update": update})
    assert dialect.open.tools == ()


@pytest.mark.parametrize(
    ("title", "command", "words"),
    [
        ("compile it", "make all", "compile it: make all"),  # as Copilot CLI does
        ("make all", "make all", "make all"),
        ("compile it", ["make", "all", 7], "compile it: make all"),
        ("compile it", None, "compile it"),
    ],
)
def test_a_command_is_named_although_its_title_is_another(title: str, command: object, words: str) -> None:
    dialect = prompting(AcpDialect(1, "/w"))
    call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": title, "rawInput": {"command": command}}
    tell(dialect, method="session/update", params={"sessionId": "t", "update": call})
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"}
    tell(dialect, method="session/update", params={"sessionId": "t", "update": update})
    [running] = dialect.open.tools
    assert running.words == words


@pytest.mark.parametrize("option", ["no", None])
def test_a_tool_that_was_not_allowed_never_ran(option: str | None) -> None:
    assert answered(option).open.tools == ()


def test_an_agent_that_dies_in_a_tool_that_we_allowed_is_cut_off() -> None:
    dialect = answered("yes")
    [seen] = tell(dialect, id="1-prompt-p1", result={"stopReason": "cancelled"})
    assert isinstance(seen, o.Noise)
    assert [tool.title for tool in dialect.open.tools] == ["rm"]


def changes(dialect: AcpDialect, name: str, status: str) -> None:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": name, "title": name, "status": status}
    tell(dialect, method="session/update", params={"sessionId": "t", "update": update})


def test_what_a_dying_agent_calls_a_failure_was_cut_off_and_an_earlier_failure_was_one() -> None:
    """Qwen Code ends its command, calls it failed, and then its turn cancelled, when its launcher is killed."""
    dialect = prompting(AcpDialect(1, "/w"))
    for name, status in (("early", "failed"), ("late", "in_progress"), ("done", "completed"), ("late", "failed")):
        changes(dialect, name, status)
    running = dialect.open.tools
    assert running == ()
    tell(dialect, id="1-prompt-p1", result={"stopReason": "cancelled"})
    assert [tool.title for tool in dialect.open.tools] == ["late"]


@pytest.mark.parametrize(
    ("can", "asked"),
    [
        ({"loadSession": True, "sessionCapabilities": {"resume": {}}}, ["session/load"]),
        ({"loadSession": True}, ["session/load"]),
        ({"sessionCapabilities": {"resume": {}}}, ["session/resume"]),
        ({}, []),
    ],
)
def test_what_the_agent_reports_decides_how_a_conversation_is_taken_up(can: Any, asked: list[str]) -> None:
    dialect = AcpDialect(2, "/w")
    send(dialect, *dialect.begin("load", "t"))
    [seen] = tell(dialect, id="2-initialize", result={"protocolVersion": 1, "agentCapabilities": can})
    assert send(dialect, *dialect.follow_up(seen)) == asked


def failing(severity: str) -> dict[str, Any]:
    failure = {"severity": severity, "category": "limit", "title": "exceeded retry limit, last status: 429"}
    return {"stopReason": "end_turn", "_meta": {"jetbrains": {"air": {"version": 1, "sessionFailure": failure}}}}


def test_codex_is_asked_for_the_failures_that_it_would_call_a_success() -> None:
    [greeting] = CodexDialect(1, "/w").begin("new", None)
    assert "sessionFailure" in json.dumps(json.loads(greeting.line)["params"]["clientCapabilities"]["_meta"])
    [seen] = tell(prompting(CodexDialect(1, "/w")), id="1-prompt-p1", result=failing("error"))
    assert isinstance(seen, o.AgentFailedTurn)
    assert seen.error_class == "rate_limited"


def test_a_warning_of_codex_is_no_failure_and_other_agents_are_not_read_that_way() -> None:
    [seen] = tell(prompting(CodexDialect(1, "/w")), id="1-prompt-p1", result=failing("warning"))
    assert isinstance(seen, o.AgentFinishedTurn)
    [seen] = tell(prompting(AcpDialect(1, "/w")), id="1-prompt-p1", result=failing("error"))
    assert isinstance(seen, o.AgentFinishedTurn)
