"""Everything that we send is what the SDK's models accept, under ids that are the same when it is sent again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from acp import schema
from acp.meta import AGENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel

from rekindle.agents.acp import messages
from rekindle.agents.base.dialect import Outgoing
from rekindle.keeper.input_records import MAX_ID

REQUESTS: list[tuple[Outgoing, str, type[BaseModel]]] = [
    (messages.initialize(3), "initialize", schema.InitializeRequest),
    (messages.new_session(3, "/work"), "session/new", schema.NewSessionRequest),
    (messages.load_session(3, "tok", "/work"), "session/load", schema.LoadSessionRequest),
    (messages.resume_session(3, "tok", "/work"), "session/resume", schema.ResumeSessionRequest),
    (messages.prompt(3, "p1", "tok", "do it"), "session/prompt", schema.PromptRequest),
    (messages.cancel(3, "p1", "tok"), "session/cancel", schema.CancelNotification),
]


def body(message: Outgoing) -> dict[str, Any]:
    assert message.line.endswith(b"\n")
    assert message.line.count(b"\n") == 1
    value = json.loads(message.line)
    assert isinstance(value, dict)
    assert value["jsonrpc"] == "2.0"
    return value


@pytest.mark.parametrize(("message", "method", "model"), REQUESTS)
def test_a_request_conforms(message: Outgoing, method: str, model: type[BaseModel]) -> None:
    sent = body(message)
    assert sent["method"] == method
    assert method in AGENT_METHODS.values()
    read = model.model_validate(sent["params"], strict=True)
    # Nothing was salvaged or ignored: what the model understood is what we wrote.
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == sent["params"]
    assert sent.get("id", message.message_id) == message.message_id


@pytest.mark.parametrize(
    ("result", "model"),
    [
        (messages.selected("o1"), schema.RequestPermissionResponse),
        (messages.CANCELLED, schema.RequestPermissionResponse),
        ({"content": "x"}, schema.ReadTextFileResponse),
        ({}, schema.WriteTextFileResponse),
        ({"terminalId": "t"}, schema.CreateTerminalResponse),
        ({"output": "x", "truncated": False, "exitStatus": {"exitCode": 0}}, schema.TerminalOutputResponse),
        ({"exitCode": None, "signal": "SIGTERM"}, schema.WaitForTerminalExitResponse),
    ],
)
def test_an_answer_conforms(result: dict[str, Any], model: type[BaseModel]) -> None:
    sent = body(messages.answer(3, 7, result))
    assert sent["id"] == 7
    read = model.model_validate(sent["result"], strict=True)
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == result
    assert schema.ClientResponseMessage.model_validate({"id": 7, "result": result}).id == 7


def test_a_refusal_conforms() -> None:
    sent = body(messages.refuse(3, "r", -32602, "outside"))
    error = schema.Error.model_validate(sent["error"])
    assert (error.code, error.message) == (-32602, "outside")
    assert "result" not in sent


def test_every_callback_is_offered() -> None:
    sent = body(messages.initialize(1))["params"]
    assert sent["protocolVersion"] == PROTOCOL_VERSION
    assert sent["clientCapabilities"] == {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


@pytest.mark.parametrize(
    ("message", "message_id"),
    [
        (messages.initialize(3), "3-initialize"),
        (messages.new_session(3, "/w"), "3-new"),
        (messages.load_session(3, "t", "/w"), "3-load-t"),
        (messages.resume_session(3, "t", "/w"), "3-resume-t"),
        (messages.prompt(3, "p1", "t", "x"), "3-prompt-p1"),
        (messages.cancel(3, "p1", "t"), "3-cancel-p1"),
        (messages.answer(3, 1, {}), "3-answer-1"),
        (messages.answer(3, "1", {}), '3-answer-"1"'),
        (messages.refuse(3, 1, -1, "no"), "3-answer-1"),
    ],
)
def test_ids_are_derived(message: Outgoing, message_id: str) -> None:
    assert message.message_id == message_id


def test_an_id_fits_the_keeper_however_long_the_agents_id_is() -> None:
    one, other = (messages.answer(3, "x" * 5000 + end, {}) for end in "ab")
    assert len(one.message_id.encode()) <= MAX_ID
    assert one.message_id != other.message_id
    assert body(one)["id"] == "x" * 5000 + "a"


@pytest.mark.parametrize("text", ["a\nb\r", "\u2028\u2029", "half \ud83d", "\0", "🙂"])
def test_any_text_is_one_line_of_valid_json(text: str) -> None:
    sent = messages.prompt(1, "p", "t", text).line
    assert b"\xe2\x80\xa8" not in sent
    said = json.loads(sent.decode())["params"]["prompt"][0]["text"]
    assert said == text.encode(errors="replace").decode()
    assert len(sent.decode().splitlines()) == 1


def test_an_id_of_a_hundred_digits_comes_back() -> None:
    assert body(messages.answer(1, 10**100, {}))["id"] == 10**100
