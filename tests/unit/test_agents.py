"""Every agent in one place: its argument lines, its environment, what is refused, and what its records mean."""

from __future__ import annotations

import json

import pytest

from rekindle.agents.base.kind import AgentStart
from rekindle.agents.base.transcript import NoPlace
from rekindle.agents.registry import AGENTS, DEFAULT

NEW = AgentStart(how="new", token=None)
LINES = {
    "auggie": ("auggie", "--acp"),
    "codex": ("codex-acp",),
    "copilot": ("copilot", "--acp", "--no-auto-update"),
    "gemini": ("gemini", "--acp"),
    "opencode": ("opencode", "acp"),
    "qwen": ("qwen", "--acp"),
}
HOME = {"HOME": "/home/me"}


def test_every_module_of_the_kinds_is_an_agent_of_its_name() -> None:
    assert set(AGENTS) == {*LINES, "amp", "claude", "scripted"}
    assert DEFAULT in AGENTS


@pytest.mark.parametrize("name", LINES)
def test_an_agent_over_acp_is_started_the_same_way_whatever_it_is_to_open(name: str) -> None:
    kind = AGENTS[name]
    assert kind.argv(NEW) == LINES[name]
    assert kind.argv(AgentStart(how="load", token="a-token")) == LINES[name]
    assert kind.argv(AgentStart(how="new", token=None, arguments=("--one", "two")))[-2:] == ("--one", "two")


@pytest.mark.parametrize("name", ["auggie", "copilot", "gemini", "qwen"])
def test_the_model_is_a_flag_where_there_is_one(name: str) -> None:
    start = AgentStart(how="load", token="t", model="m1")
    assert AGENTS[name].argv(start)[len(LINES[name]) :] == ("--model", "m1")


@pytest.mark.parametrize(("name", "variable"), [("codex", "CODEX_CONFIG"), ("opencode", "OPENCODE_CONFIG_CONTENT")])
def test_the_model_is_put_into_the_configuration_where_there_is_no_flag(name: str, variable: str) -> None:
    kind, start = AGENTS[name], AgentStart(how="new", token=None, model="m1")
    assert variable not in kind.variables(NEW, {})
    assert json.loads(kind.variables(start, {})[variable]) == {"model": "m1"}
    mine = {variable: json.dumps({"model": "m0", "mine": 1})}
    assert json.loads(kind.variables(start, mine)[variable]) == {"model": "m1", "mine": 1}
    assert json.loads(kind.variables(start, {variable: "no json"})[variable]) == {"model": "m1"}


STREAM = ("claude", "--print", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json")
TALK = ("--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio")


def test_claude_code_is_started_afresh_with_model_permission_and_format_and_resumed_with_the_same() -> None:
    def line(**more: object) -> tuple[str, ...]:
        start = AgentStart(model="m1", permission="edits", arguments=("--settings", "x"), **more)  # type: ignore[arg-type]
        return AGENTS["claude"].argv(start)

    flags = ("--permission-mode", "acceptEdits", "--model", "m1")
    assert line(how="new", token="t1") == (*STREAM, *TALK, *flags, "--session-id", "t1", "--settings", "x")
    assert line(how="load", token="t1") == (*STREAM, *TALK, *flags, "--resume", "t1", "--settings", "x")
    forked = line(how="new", token="t2", fork_of="t1", at="u1")
    fork = ("--resume", "t1", "--fork-session", "--session-id", "t2", "--resume-session-at", "u1")
    assert forked == (*STREAM, *TALK, *flags, *fork, "--settings", "x"), "both ids only where a copy is wanted"


def test_a_thread_of_amp_is_continued_by_its_name_and_never_by_being_the_last() -> None:
    words = AGENTS["amp"].argv(AgentStart(how="load", token="T-1"))
    assert words[:4] == ("amp", "threads", "continue", "T-1")
    assert "--last" not in words
    assert AGENTS["amp"].argv(NEW)[:2] == ("amp", "--execute")


@pytest.mark.parametrize("name", ["auggie", "claude", "copilot", "gemini", "qwen"])
def test_flags_that_open_another_conversation_are_refused(name: str) -> None:
    refused = AGENTS[name].refused
    assert refused(("--verbose", "--resume")) == "--resume"
    assert refused(("--resume=abc",)) == "--resume=abc"
    assert refused(("--verbose", "resume")) is None


def test_who_is_not_built_in_says_how_it_is_installed() -> None:
    assert [name for name, kind in AGENTS.items() if kind.program and not kind.missing] == []


def test_agents_whose_load_destroys_or_was_never_tried_are_told_the_history() -> None:
    assert [name for name, kind in AGENTS.items() if not kind.native] == ["auggie", "gemini"]


PLACES = {
    "codex": "/home/me/.codex/sessions/*/*/*/rollout-*-t1.jsonl",
    "copilot": "/home/me/.copilot/session-state/t1/events.jsonl",
    "qwen": "/home/me/.qwen/projects/-work-a-b/chats/t1.jsonl",
}


@pytest.mark.parametrize("name", PLACES)
def test_records_are_looked_for_where_the_agent_keeps_them(name: str) -> None:
    record = AGENTS[name].transcript
    assert record is not None
    assert record.place(HOME, "/work/a.b", "t1") == PLACES[name]
    with pytest.raises(NoPlace):
        record.place({}, "/work", "t1")
    for wild in ("../t1", "*", "a/b", ""):
        with pytest.raises(NoPlace):
            record.place(HOME, "/work", wild)


def lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def codex(kind: str, **payload: object) -> dict[str, object]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


RECORDS = {
    "codex": lines(
        codex("session_meta", id="t1"),
        codex("response_item", type="message", role="user", content=[{"text": "<environment_context/>"}]),
        codex("response_item", type="message", role="user", content=[{"text": "do it"}]),
        codex(
            "event_msg",
            type="item_completed",
            thread_id="t1",
            item={"type": "UserMessage", "content": [{"text": "do it"}]},
        ),
        codex("response_item", type="message", role="assistant", content=[{"text": "I do"}]),
        codex("response_item", type="function_call", call_id="c1", name="shell", arguments="make"),
        codex("response_item", type="function_call_output", call_id="c1", output="ok"),
        codex("response_item", type="function_call", call_id="c2", name="shell", arguments="make test"),
    ),
    "copilot": lines(
        {"type": "session.start", "id": "1", "data": {}},
        {"type": "user.message", "id": "2", "data": {"content": "do it", "transformedContent": "<x/>do it"}},
        {
            "type": "assistant.message",
            "id": "3",
            "data": {
                "content": "I do",
                "toolRequests": [
                    {"toolCallId": "c1", "name": "shell", "arguments": "make"},
                    {"toolCallId": "c2", "name": "shell", "arguments": "make test"},
                ],
            },
        },
        {"type": "tool.execution_complete", "id": "4", "data": {"toolCallId": "c1"}},
    ),
    "qwen": lines(
        {"type": "user", "uuid": "1", "sessionId": "t1", "message": {"parts": [{"text": "do it"}]}},
        {"type": "user", "uuid": "2", "sessionId": "t1", "provenance": "system", "message": {"parts": [{"text": "x"}]}},
        {
            "type": "assistant",
            "uuid": "3",
            "sessionId": "t1",
            "message": {
                "parts": [
                    {"text": "hm", "thought": True},
                    {"text": "I do"},
                    {"functionCall": {"id": "c1", "name": "shell", "args": "make"}},
                    {"functionCall": {"id": "c2", "name": "shell", "args": "make test"}},
                ]
            },
        },
        {
            "type": "tool_result",
            "uuid": "4",
            "sessionId": "t1",
            "message": {"parts": [{"functionResponse": {"id": "c1"}}]},
        },
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_tells_prompts_words_and_tools_without_a_result(name: str) -> None:
    record = AGENTS[name].transcript
    assert record is not None
    read = record.read(RECORDS[name])
    assert read.prompts == ("do it",)
    assert read.said == "I do"
    assert [tool.tool_id for tool in read.open_tools] == ["c2"]
    assert "make test" in read.open_tools[0].title
    assert not read.problems


def test_a_command_that_a_dying_codex_calls_aborted_was_running() -> None:
    record = AGENTS["codex"].transcript
    assert record is not None
    aborted = codex(
        "response_item", type="function_call_output", call_id="c2", output="Wall time: 0.1 s\naborted by user"
    )
    read = record.read(RECORDS["codex"] + lines(aborted, codex("event_msg", type="turn_aborted")))
    assert [tool.tool_id for tool in read.open_tools] == ["c2"]


@pytest.mark.parametrize("name", RECORDS)
def test_a_torn_record_is_mended_at_every_byte_without_losing_a_whole_line(name: str) -> None:
    record = AGENTS[name].transcript
    assert record is not None
    data = RECORDS[name]
    for size in range(len(data)):
        mended = record.repair(data[:size])
        read = record.read(mended.data)
        assert not read.problems
        assert len(read.entries) >= data[:size].count(b"\n")
        assert record.repair(mended.data).changes == ()
