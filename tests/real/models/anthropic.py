"""The Anthropic Messages API, as Claude Code uses it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.real.models.server import Request, Wire
from tests.real.models.steps import Drop, Fail, Hang, Refuse, Reply, Step

_MESSAGES = "/v1/messages"
_OVERLOADED = 529
_SERVER_ERROR = 500


class Anthropic:
    """Streams if asked to. Claude Code asks again without a stream if one breaks: that one breaks too."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    def is_turn(self, method: str, path: str, body: Any) -> bool:
        return method == "POST" and path.partition("?")[0] == _MESSAGES and isinstance(body, dict)

    def aside(self, request: Request, wire: Wire) -> None:
        if request.path.startswith(f"{_MESSAGES}/count_tokens"):
            return wire.whole(200, {"input_tokens": 100})
        if request.method == "HEAD":
            return wire.whole(200, {})
        return wire.whole(404, _error("not_found_error", "the mock has no such page"))

    def answer(self, request: Request, step: Step, wire: Wire) -> None:
        match step:
            case Refuse(status, kind, message, headers):
                wire.whole(status, _error(kind, message), headers)
            case Hang(before_headers=True, gate=gate, then=then):
                wire.stall(gate)
                self._reply(request, then, wire)
            case Hang(partial=partial, gate=gate, then=then):
                self._hang(request, partial, gate, then, wire)
            case Fail(kind, message, partial) if request.body.get("stream"):
                self._begin(request, partial, wire)
                wire.event("error", _error(kind, message))
                wire.end_events()
            case Fail(kind, message):
                wire.whole(_OVERLOADED if kind == "overloaded_error" else _SERVER_ERROR, _error(kind, message))
            case Drop(partial):
                if request.body.get("stream"):
                    self._begin(request, partial, wire)
                wire.cut()
            case Reply():
                self._reply(request, step, wire)

    def user_texts(self, request: Request) -> list[str]:
        texts = [text.rstrip("\n") for text in _texts(request, "user")]  # the CLI joins messages with newlines
        return [text for text in texts if not text.startswith("<system-reminder>")]

    def assistant_texts(self, request: Request) -> list[str]:
        return list(_texts(request, "assistant"))

    def tool_results(self, request: Request) -> list[str]:
        found = []
        for block in _blocks(request, "user"):
            if block.get("type") == "tool_result":
                content = block.get("content")
                found.append(content if isinstance(content, str) else json.dumps(content))
        return found

    def _message(self, request: Request, reply: Reply) -> dict[str, Any]:
        usage = {"input_tokens": reply.input_tokens, "output_tokens": 1}
        message = {"id": f"msg_{next(self._ids):08}", "type": "message", "role": "assistant", "content": []}
        return {
            **message,
            "model": request.body.get("model"),
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }

    def _content(self, reply: Reply) -> list[dict[str, Any]]:
        text = [{"type": "text", "text": reply.text}] if reply.text else []
        return text + [
            {"type": "tool_use", "id": f"toolu_{next(self._ids):08}", "name": use.tool, "input": dict(use.arguments)}
            for use in reply.uses
        ]

    def _reply(self, request: Request, reply: Reply, wire: Wire) -> None:
        message, content = self._message(request, reply), self._content(reply)
        if not request.body.get("stream"):
            return wire.whole(200, {**message, "content": content, "stop_reason": _stop(reply)})
        wire.begin_events()
        wire.event("message_start", {"type": "message_start", "message": message})
        for index, block in enumerate(content):
            self._block(index, block, reply.piece, wire)
        return self._end(reply, wire)

    def _hang(self, request: Request, partial: str, gate: Any, then: Reply, wire: Wire) -> None:
        if not request.body.get("stream"):
            wire.stall(gate)
            return self._reply(request, then, wire)
        self._begin(request, partial, wire)
        wire.stall(gate)
        if not partial:
            _start(0, {"type": "text", "text": ""}, wire)
        _delta(0, {"type": "text_delta", "text": then.text}, wire)
        _stop_block(0, wire)
        for index, block in enumerate(self._content(Reply(uses=then.uses)), start=1):
            self._block(index, block, then.piece, wire)
        return self._end(then, wire)

    def _begin(self, request: Request, partial: str, wire: Wire) -> None:
        wire.begin_events()
        wire.event("message_start", {"type": "message_start", "message": self._message(request, Reply())})
        if partial:
            _start(0, {"type": "text", "text": ""}, wire)
            _delta(0, {"type": "text_delta", "text": partial}, wire)

    def _block(self, index: int, block: dict[str, Any], piece: int, wire: Wire) -> None:
        if block["type"] == "text":
            _start(index, {"type": "text", "text": ""}, wire)
            for begin in range(0, len(block["text"]), piece):
                _delta(index, {"type": "text_delta", "text": block["text"][begin : begin + piece]}, wire)
        else:
            _start(index, {**block, "input": {}}, wire)
            _delta(index, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}, wire)
        _stop_block(index, wire)

    def _end(self, reply: Reply, wire: Wire) -> None:
        delta = {"stop_reason": _stop(reply), "stop_sequence": None}
        wire.event("message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
        wire.event("message_stop", {"type": "message_stop"})
        wire.end_events()


def _stop(reply: Reply) -> str:
    return reply.stop or ("tool_use" if reply.uses else "end_turn")


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"}


def _start(index: int, block: dict[str, Any], wire: Wire) -> None:
    wire.event("content_block_start", {"type": "content_block_start", "index": index, "content_block": block})


def _delta(index: int, delta: dict[str, Any], wire: Wire) -> None:
    wire.event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})


def _stop_block(index: int, wire: Wire) -> None:
    wire.event("content_block_stop", {"type": "content_block_stop", "index": index})


def _blocks(request: Request, role: str) -> Iterator[dict[str, Any]]:
    for message in request.body.get("messages", ()):
        if message.get("role") == role:
            content = message.get("content")
            yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(request: Request, role: str) -> Iterator[str]:
    for block in _blocks(request, role):
        if block.get("type") == "text":
            yield block["text"]
