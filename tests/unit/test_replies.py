"""What an agent is told about something that it asked us to do: each in its own language."""

from __future__ import annotations

import json
from typing import get_args, get_type_hints

import pytest

from rekindle.agents.acp.dialect import AcpDialect
from rekindle.agents.base.dialect import CallbackRefused
from rekindle.agents.base.observation import CallbackAsked
from rekindle.agents.base.terminal import TerminalDialect
from rekindle.agents.claude.dialect import ClaudeDialect

ASKED = CallbackAsked(request_id="a7", method="fs/read_text_file", params={})


def test_an_acp_agent_gets_the_result() -> None:
    told = AcpDialect(3, "/w").reply(ASKED, {"content": "x"})
    assert told is not None
    assert json.loads(told.line) == {"jsonrpc": "2.0", "id": "a7", "result": {"content": "x"}}


@pytest.mark.parametrize("reason", get_args(get_type_hints(CallbackRefused)["reason"]))
def test_an_acp_agent_gets_a_code_for_every_reason(reason: str) -> None:
    told = AcpDialect(3, "/w").reply(ASKED, CallbackRefused(reason, "because"))  # type: ignore[arg-type]
    assert told is not None
    error = json.loads(told.line)["error"]
    assert error["message"] == "because" and isinstance(error["code"], int) and error["code"] < 0


def test_a_result_and_a_refusal_of_one_request_have_one_id() -> None:
    """The keeper says each message once, and a request has one answer."""
    wire = AcpDialect(3, "/w")
    done, refused = wire.reply(ASKED, {}), wire.reply(ASKED, CallbackRefused("failed", "no"))
    assert done is not None and refused is not None and done.message_id == refused.message_id


def test_claude_code_is_refused_and_a_screen_is_told_nothing() -> None:
    told = ClaudeDialect(3, "/w").reply(ASKED, {})
    assert told is not None and b"is not served here" in told.line
    assert TerminalDialect(3, "/w").reply(ASKED, {}) is None
