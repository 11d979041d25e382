"""What we send to an ACP agent: one line per message, under an id that is derived and never random.

The keeper executes a message id once, so sending the same message again after a crash is harmless. The id is made of
the generation (the number of the attempt, the same for every daemon that serves this agent process) and of what the
message is about. Plain dicts; tests check every message against the SDK's models. This module keeps no state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from rekindle.agents.base import fields
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.base.lenient import clean, encode_line
from rekindle.agents.base.observation import RequestId

PROTOCOL_VERSION: Final = 1
CLIENT_NAME: Final = "rekindle"
#: The keeper accepts ids of up to 1,024 bytes; longer keys are replaced by their hash.
_LONGEST_ID: Final = 512


def initialize(generation: int, *, extensions: Mapping[str, Any] | None = None) -> Outgoing:
    """The first message of an agent's life: which callbacks we serve. Extensions are specific to one agent."""
    params = {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": {
            "fs": {"readTextFile": True, "writeTextFile": True},
            "terminal": True,
            **({"_meta": extensions} if extensions else {}),
        },
        "clientInfo": {"name": CLIENT_NAME, "version": "0"},
    }
    return _request(generation, "initialize", "initialize", params)


def new_session(generation: int, cwd: str) -> Outgoing:
    return _request(generation, "new", "session/new", {"cwd": cwd, "mcpServers": []})


def load_session(generation: int, token: str, cwd: str) -> Outgoing:
    """Open a conversation again; the agent replays it."""
    params = {"sessionId": token, "cwd": cwd, "mcpServers": []}
    return _request(generation, f"load-{token}", "session/load", params)


def resume_session(generation: int, token: str, cwd: str) -> Outgoing:
    """Open a conversation again without a replay."""
    params = {"sessionId": token, "cwd": cwd, "mcpServers": []}
    return _request(generation, f"resume-{token}", "session/resume", params)


def prompt(generation: int, prompt_id: str, token: str, text: str) -> Outgoing:
    blocks = [{"type": "text", "text": text}]
    return _request(generation, f"prompt-{prompt_id}", "session/prompt", {"sessionId": token, "prompt": blocks})


def prompt_in(message_id: str, line: bytes) -> tuple[str, str] | None:
    """The id and text of the prompt, if our message is one."""
    _, _, key = message_id.partition("-")
    if not key.startswith("prompt-"):
        return None
    try:
        blocks = json.loads(line)["params"]["prompt"]
        text = "".join(block["text"] for block in blocks if block.get("type") == "text")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return key.removeprefix("prompt-"), text


def cancel(generation: int, prompt_id: str, token: str) -> Outgoing:
    """Ask for the end of a turn; open requests for permission have to be answered with `CANCELLED`."""
    body = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": token}}
    return Outgoing(_id(generation, f"cancel-{prompt_id}"), encode_line(body))


def answer(generation: int, request_id: RequestId, result: dict[str, Any] | None) -> Outgoing:
    body = {"jsonrpc": "2.0", "id": request_id, "result": result}
    return Outgoing(_answer_id(generation, request_id), encode_line(body))


def refuse(generation: int, request_id: RequestId, code: int, message: str) -> Outgoing:
    """Uses the same id as `answer`, because a request gets exactly one reply, of either kind."""
    body = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
    return Outgoing(_answer_id(generation, request_id), encode_line(body))


#: The answer to a request for permission whose turn is cancelled.
CANCELLED: Final[dict[str, Any]] = {"outcome": {"outcome": "cancelled"}}


def selected(option_id: str) -> dict[str, Any]:
    """The answer to a request for permission if one of its options was chosen."""
    return {"outcome": {"outcome": "selected", "optionId": option_id}}


def _request(generation: int, key: str, method: str, params: dict[str, Any]) -> Outgoing:
    name = _id(generation, key)
    return Outgoing(name, encode_line({"jsonrpc": "2.0", "id": name, "method": method, "params": params}))


def _answer_id(generation: int, request_id: RequestId) -> str:
    return _id(generation, f"answer-{fields.key(request_id)}")


def _id(generation: int, key: str) -> str:
    if len(key.encode(errors="replace")) > _LONGEST_ID:
        kind = key.split("-", 1)[0]
        key = f"{kind}-#{hashlib.blake2b(key.encode(errors='replace'), digest_size=16).hexdigest()}"
    return f"{generation}-{clean(key)}"
