"""The Gemini API, as Gemini CLI uses it.

A request of the conversation brings the agent's tools along; one without them (a routing question, a summary) is an
aside that wants JSON or a few words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.real.models.server import Request, Wire
from tests.real.models.steps import Drop, Fail, Hang, Refuse, Reply, Step

_STREAM = ":streamGenerateContent"
_WHOLE = ":generateContent"
_DECISION = {
    "reasoning": "mock",
    "complexity_reasoning": "mock",
    "next_speaker": "user",
    "model_choice": "flash",
    "complexity_score": 1,
}


class Gemini:
    """Streams if asked to."""

    def is_turn(self, method: str, path: str, body: Any) -> bool:
        where = path.partition("?")[0]
        return method == "POST" and where.endswith((_STREAM, _WHOLE)) and isinstance(body, dict) and "tools" in body

    def aside(self, request: Request, wire: Wire) -> None:
        where = request.path.partition("?")[0]
        if where.endswith(":countTokens"):
            return wire.whole(200, {"totalTokens": 100})
        if where.endswith((_STREAM, _WHOLE)):
            settings = request.body.get("generationConfig") or {}
            text = json.dumps(_DECISION) if "json" in str(settings.get("responseMimeType")) else "a summary"
            return self._reply(request, Reply(text), wire)
        return wire.whole(404, _error(404, "NOT_FOUND", "the mock has no such page"))

    def answer(self, request: Request, step: Step, wire: Wire) -> None:
        match step:
            case Refuse(status, kind, message, headers):
                wire.whole(status, _error(status, kind, message), headers)
            case Hang(before_headers=True, gate=gate, then=then):
                wire.stall(gate)
                self._reply(request, then, wire)
            case Hang(partial=partial, gate=gate, then=then):
                self._begin(partial, wire)
                wire.stall(gate)
                self._end(then, wire)
            case Fail(kind, message, partial):
                self._begin(partial, wire)
                wire.event(None, _error(500, kind, message))
                wire.end_events()
            case Drop(partial):
                self._begin(partial, wire)
                wire.cut()
            case Reply():
                self._reply(request, step, wire)

    def user_texts(self, request: Request) -> list[str]:
        texts = [text.strip() for text in _texts(request.body, "user")]
        return [text for text in texts if not text.startswith("<")]  # what the agent adds it puts into tags

    def assistant_texts(self, request: Request) -> list[str]:
        return list(_texts(request.body, "model"))

    def tool_results(self, request: Request) -> list[str]:
        return [
            json.dumps(part["functionResponse"]) for part in _parts(request.body, "user") if "functionResponse" in part
        ]

    def _reply(self, request: Request, reply: Reply, wire: Wire) -> None:
        if request.path.partition("?")[0].endswith(_WHOLE):
            return wire.whole(200, _chunk(_parts_of(reply), reply, "STOP"))
        wire.begin_events()
        return self._end(reply, wire)

    def _begin(self, partial: str, wire: Wire) -> None:
        wire.begin_events()
        if partial:
            wire.event(None, _chunk([{"text": partial}], Reply()))

    def _end(self, reply: Reply, wire: Wire) -> None:
        wire.event(None, _chunk(_parts_of(reply), reply, reply.stop or "STOP"))
        wire.end_events()


def _parts_of(reply: Reply) -> list[dict[str, Any]]:
    text = [{"text": reply.text}] if reply.text else []
    return [*text, *({"functionCall": {"name": use.tool, "args": dict(use.arguments)}} for use in reply.uses)]


def _chunk(parts: list[dict[str, Any]], reply: Reply, finish: str | None = None) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    tokens = {
        "promptTokenCount": reply.input_tokens,
        "candidatesTokenCount": 7,
        "totalTokenCount": reply.input_tokens + 7,
    }
    ended = {"finishReason": finish} if finish else {}
    return {"candidates": [{**candidate, **ended}], "usageMetadata": tokens, "modelVersion": "mock-model"}


def _error(status: int, kind: str, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message, "status": kind}}


def _parts(body: Any, role: str) -> Iterator[dict[str, Any]]:
    for content in body.get("contents") or ():
        if content.get("role") == role:
            yield from content.get("parts") or ()


def _texts(body: Any, role: str) -> Iterator[str]:
    for part in _parts(body, role):
        if isinstance(part.get("text"), str):
            yield part["text"]
