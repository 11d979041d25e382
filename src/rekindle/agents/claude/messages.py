"""What we send to Claude Code's standard input: one line of JSON per message, under ids that are derived, not random.

The id of the first message tells how the conversation is opened, so that the next daemon finds it in the spool.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.base.lenient import encode_line, parse
from rekindle.agents.base.observation import How

_INITIALIZE: Final = re.compile(r"\d+-initialize-(new|load)-(.*)", re.ASCII)


def derived_uuid(*parts: object) -> str:
    """A name of the form that Claude Code requires, the same for the same parts."""
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode(errors="replace")).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def initialize(generation: int, how: How, token: str) -> Outgoing:
    """The first message: the answer to it means that the agent is ready, and costs no turn."""
    return _control(f"{generation}-initialize-{how}-{token}", {"subtype": "initialize"})


def opening_in(message_id: str) -> tuple[How, str] | None:
    """How to open the conversation, and its name, if our message asks for that."""
    found = _INITIALIZE.fullmatch(message_id)
    if found is None:
        return None
    return ("load" if found[1] == "load" else "new"), found[2]


def prompt(generation: int, prompt_id: str, token: str, text: str) -> Outgoing:
    """A prompt. Its uuid comes back in the agent's stream and in its transcript."""
    message_id = f"{generation}-prompt-{prompt_id}"
    body = {
        "type": "user",
        "uuid": derived_uuid(token, message_id),
        "session_id": token,
        "parent_tool_use_id": None,
        "message": {"role": "user", "content": text},
    }
    return Outgoing(message_id, encode_line(body))


def prompt_in(message_id: str, line: bytes) -> tuple[str, str] | None:
    """The id and text of the prompt, if our message is one."""
    _, _, key = message_id.partition("-")
    content = fields.mapping(fields.mapping(parse(line)).get("message")).get("content")
    if not key.startswith("prompt-") or not isinstance(content, str):
        return None
    return key.removeprefix("prompt-"), content


def interrupt(generation: int, prompt_id: str) -> Outgoing:
    """Ask for the end of a turn."""
    return _control(f"{generation}-cancel-{prompt_id}", {"subtype": "interrupt"})


def allow(generation: int, request: str, given: dict[str, Any], rules: list[Any]) -> Outgoing:
    """Let a tool run as it was asked for; `rules` are the agent's own suggestions for not asking again."""
    answer: dict[str, Any] = {"behavior": "allow", "updatedInput": given}
    if rules:
        answer["updatedPermissions"] = rules
    return _answer(generation, request, {"subtype": "success", "response": answer})


def deny(generation: int, request: str, why: str, *, interrupt: bool = False) -> Outgoing:
    """Refuse a tool. `interrupt` ends the turn as well."""
    answer = {"behavior": "deny", "message": why, "interrupt": interrupt}
    return _answer(generation, request, {"subtype": "success", "response": answer})


def refuse(generation: int, request: str, why: str) -> Outgoing:
    """Refuse a request that we do not serve; without an answer the agent would wait forever."""
    return _answer(generation, request, {"subtype": "error", "error": why})


def _control(message_id: str, request: dict[str, Any]) -> Outgoing:
    body = {"type": "control_request", "request_id": message_id, "request": request}
    return Outgoing(message_id, encode_line(body))


def _answer(generation: int, request: str, response: dict[str, Any]) -> Outgoing:
    """A request is answered once, one way or the other: all answers to it share one id."""
    body = {"type": "control_response", "response": {**response, "request_id": request}}
    return Outgoing(f"{generation}-answer-{json.dumps(request)}", encode_line(body))
