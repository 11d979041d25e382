"""The OpenAI APIs, Responses and Chat Completions, as Codex, OpenCode, Copilot and Qwen use them.

A request of the conversation brings the agent's tools along; one without them (a title, a summary) is an aside.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.real.models.server import Request, Wire
from tests.real.models.steps import Drop, Fail, Hang, Refuse, Reply, Step

_RESPONSES = "/responses"
_CHAT = "/chat/completions"
_LETTERS_A_TOKEN = 4
_SUMMARY = "a summary of the conversation so far"
#: What an agent adds to the user's words it puts into tags, in front of them.
_ADDED = re.compile(r"\s*<([\w-]+)[^>]*>.*?</\1>", re.DOTALL)


class OpenAI:
    """Both APIs, told apart by the path. `truthful`: it counts the tokens that it is given, whatever a step says."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self.truthful = False

    def is_turn(self, method: str, path: str, body: Any) -> bool:
        where = path.partition("?")[0]
        return method == "POST" and where.endswith((_RESPONSES, _CHAT)) and isinstance(body, dict) and "tools" in body

    def aside(self, request: Request, wire: Wire) -> None:
        where = request.path.partition("?")[0]
        if where.endswith((_RESPONSES, _CHAT)):
            return self._reply(request, Reply(_SUMMARY), wire)
        if where.endswith("/models"):
            one = {"id": "mock-model", "object": "model", "created": 1, "owned_by": "mock"}
            return wire.whole(200, {"object": "list", "data": [one], "models": []})
        return wire.whole(404, _error("not_found", "the mock has no such page"))

    def answer(self, request: Request, step: Step, wire: Wire) -> None:
        match step:
            case Refuse(status, kind, message, headers):
                wire.whole(status, _error(kind, message), headers)
            case Hang(before_headers=True, gate=gate, then=then):
                wire.stall(gate)
                self._reply(request, then, wire)
            case Hang(partial=partial, gate=gate, then=then):
                stream = self._stream(request, wire)
                stream.text(partial)
                wire.stall(gate)
                stream.text(then.text)
                stream.end(then)
            case Fail(kind, message, partial):
                stream = self._stream(request, wire)
                stream.text(partial)
                stream.fail(kind, message)
            case Drop(partial):
                self._stream(request, wire).text(partial)
                wire.cut()
            case Reply():
                self._reply(request, step, wire)

    def user_texts(self, request: Request) -> list[str]:
        return [typed for text in _texts(request.body, "user") if (typed := _typed(text))]

    def assistant_texts(self, request: Request) -> list[str]:
        return list(_texts(request.body, "assistant"))

    def tool_results(self, request: Request) -> list[str]:
        found = [item.get("output") for item in _items(request.body) if item.get("type") == "function_call_output"]
        found += [item.get("content") for item in _items(request.body) if item.get("role") == "tool"]
        return [one if isinstance(one, str) else json.dumps(one) for one in found]

    def _reply(self, request: Request, reply: Reply, wire: Wire) -> None:
        if self.truthful:
            reply = replace(reply, input_tokens=len(json.dumps(request.body)) // _LETTERS_A_TOKEN)
        stream = self._stream(request, wire)
        for begin in range(0, len(reply.text), reply.piece):
            stream.text(reply.text[begin : begin + reply.piece])
        stream.end(reply)

    def _stream(self, request: Request, wire: Wire) -> _Chat | _Responses:
        number = next(self._ids)
        whole = not request.body.get("stream")
        if request.path.partition("?")[0].endswith(_CHAT):
            return _Chat(number, str(request.body.get("model")), wire, whole=whole)
        return _Responses(number, wire)


class _Chat:
    """One answer of Chat Completions, streamed or in one piece."""

    def __init__(self, number: int, model: str, wire: Wire, *, whole: bool) -> None:
        self._base = {"id": f"chatcmpl-{number}", "created": 1, "model": model}
        self._number = number
        self._wire = wire
        self._whole = whole
        self._said = ""
        if not whole:
            wire.begin_events()

    def text(self, words: str) -> None:
        self._said += words
        if words and not self._whole:
            self._chunk({"role": "assistant", "content": words})

    def end(self, reply: Reply) -> None:
        calls = [
            {
                "index": index,
                "id": f"call_{self._number}_{index}",
                "type": "function",
                "function": {"name": use.tool, "arguments": json.dumps(dict(use.arguments))},
            }
            for index, use in enumerate(reply.uses)
        ]
        finish = "tool_calls" if calls else reply.stop or "stop"
        tokens = {"prompt_tokens": reply.input_tokens, "completion_tokens": 7, "total_tokens": reply.input_tokens + 7}
        if self._whole:
            message = {"role": "assistant", "content": self._said, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": finish}
            return self._wire.whole(
                200, {**self._base, "object": "chat.completion", "choices": [choice], "usage": tokens}
            )
        if calls:
            self._chunk({"role": "assistant", "content": None, "tool_calls": calls})
        self._chunk({}, finish, usage=tokens)
        self._wire.event(None, "[DONE]")
        return self._wire.end_events()

    def fail(self, kind: str, message: str) -> None:
        self._wire.event(None, _error(kind, message))
        self._wire.end_events()

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self._wire.event(None, {**self._base, "object": "chat.completion.chunk", "choices": [choice], **more})


class _Responses:
    """One streamed answer of Responses."""

    def __init__(self, number: int, wire: Wire) -> None:
        self._number = number
        self._wire = wire
        self._message = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
        self._said = ""
        wire.begin_events()
        self._event("response.created", response={"id": f"resp_{number}", "status": "in_progress", "output": []})

    def text(self, words: str) -> None:
        if not words:
            return
        if not self._said:
            item = {**self._message, "status": "in_progress", "content": []}
            self._event("response.output_item.added", output_index=0, item=item)
            part = {"type": "output_text", "text": "", "annotations": []}
            self._event("response.content_part.added", output_index=0, content_index=0, item_id=item["id"], part=part)
        self._said += words
        self._event(
            "response.output_text.delta", output_index=0, content_index=0, item_id=self._message["id"], delta=words
        )

    def end(self, reply: Reply) -> None:
        items: list[dict[str, Any]] = []
        if self._said:
            part = {"type": "output_text", "text": self._said, "annotations": []}
            items.append({**self._message, "status": "completed", "content": [part]})
        for index, use in enumerate(reply.uses):
            items.append(
                {
                    "type": "function_call",
                    "id": f"fc_{self._number}_{index}",
                    "call_id": f"call_{self._number}_{index}",
                    "name": use.tool,
                    "arguments": json.dumps(dict(use.arguments)),
                    "status": "completed",
                }
            )
        for index, item in enumerate(items):
            if item["type"] == "function_call":
                added = {**item, "arguments": "", "status": "in_progress"}
                self._event("response.output_item.added", output_index=index, item=added)
            self._event("response.output_item.done", output_index=index, item=item)
        tokens = {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.input_tokens + 7,
        }
        done = {"id": f"resp_{self._number}", "status": "completed", "output": items, "usage": tokens}
        self._event("response.completed", response=done)
        self._wire.end_events()

    def fail(self, kind: str, message: str) -> None:
        failed = {"id": f"resp_{self._number}", "status": "failed", "error": {"code": kind, "message": message}}
        self._event("response.failed", response=failed)
        self._wire.end_events()

    def _event(self, name: str, **fields: Any) -> None:
        self._wire.event(name, {"type": name, **fields})


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


def _typed(text: str) -> str:
    while found := _ADDED.match(text):
        text = text[found.end() :]
    return text.strip()


def _items(body: Any) -> Iterator[dict[str, Any]]:
    for item in body.get("messages") or body.get("input") or ():
        if isinstance(item, dict):
            yield item


def _texts(body: Any, role: str) -> Iterator[str]:
    for item in _items(body):
        if item.get("role") != role:
            continue
        content = item.get("content")
        if isinstance(content, str):
            yield content
        for part in content if isinstance(content, list) else ():
            if isinstance(part.get("text"), str):
                yield part["text"]
