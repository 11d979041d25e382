"""A model on loopback that answers what it was told to: enough of the Messages API for Claude Code to hold a turn.

Each request takes the next answer of the list, the last one stays. An answer is a value, so that a recording reads as
a list of what the model did.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

_PIECE = 12  # characters of a text in one event, so that partial messages have parts


class Tool(msgspec.Struct, frozen=True):
    """A call of a tool."""

    name: str
    given: dict[str, Any]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the model does: think, say, call tools; then end the turn, hang, drop the connection or report an error."""

    thinks: str = ""
    says: str = ""
    calls: tuple[Tool, ...] = ()
    stop_reason: str = ""
    then: str = "end"  # or "hang", "drop"
    input_tokens: int = 10


class Failure(msgspec.Struct, frozen=True):
    """An HTTP error in place of an answer."""

    status: int
    kind: str
    message: str
    headers: tuple[tuple[str, str], ...] = ()


class Model:
    """The list of answers, and the requests that came."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self._answers: list[Answer | Failure] = []
        self._lock = threading.Lock()
        self._made = 0
        self.over = threading.Event()

    def will(self, *answers: Answer | Failure) -> None:
        with self._lock:
            self._answers = list(answers)
            self.requests.clear()

    def take(self, request: dict[str, Any]) -> Answer | Failure:
        with self._lock:
            self.requests.append(request)
            return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def number(self) -> int:
        with self._lock:
            self._made += 1
            return self._made


@contextmanager
def serve() -> Iterator[Model]:
    """A model that listens until the block ends."""
    model = Model()

    class Handler(_Handler):
        told = model

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.over.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    told: Model

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the recording is what is looked at."""

    def do_HEAD(self) -> None:
        self._whole(200, b"")

    def do_GET(self) -> None:
        self._whole(404, b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", "0"))) or b"{}")
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self._whole(200, b'{"input_tokens":10}')
            return
        answer = self.told.take(body)
        try:
            if isinstance(answer, Failure):
                error = {"type": "error", "error": {"type": answer.kind, "message": answer.message}}
                self._whole(answer.status, json.dumps(error).encode(), answer.headers)
            elif body.get("stream"):
                self._stream(answer, str(body.get("model")))
            else:
                self._at_once(answer, str(body.get("model")))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _whole(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _message(self, answer: Answer, model: str) -> dict[str, Any]:
        usage = {"input_tokens": answer.input_tokens, "output_tokens": 1}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message = {"id": f"msg_{self.told.number():024d}", "type": "message", "role": "assistant", "model": model}
        return message | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}

    def _blocks(self, answer: Answer) -> list[dict[str, Any]]:
        blocks: list[dict[str, Any]] = []
        if answer.thinks:
            blocks.append({"type": "thinking", "thinking": answer.thinks, "signature": "c2lnbmF0dXJl"})
        if answer.says:
            blocks.append({"type": "text", "text": answer.says})
        for tool in answer.calls:
            made = {"type": "tool_use", "id": f"toolu_{self.told.number():024d}"}
            blocks.append(made | {"name": tool.name, "input": tool.given})
        return blocks

    def _at_once(self, answer: Answer, model: str) -> None:
        if answer.then != "end":
            self._wait_or_drop(answer)
            return
        done = {"content": self._blocks(answer), "stop_reason": _stop_reason(answer)}
        self._whole(200, json.dumps(self._message(answer, model) | done).encode())

    def _stream(self, answer: Answer, model: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        self._event({"type": "message_start", "message": self._message(answer, model)})
        blocks = self._blocks(answer)
        for index, block in enumerate(blocks):
            empty, deltas = _parts(block)
            self._event({"type": "content_block_start", "index": index, "content_block": empty})
            for delta in deltas:
                self._event({"type": "content_block_delta", "index": index, "delta": delta})
            if answer.then == "end" or index + 1 < len(blocks):
                self._event({"type": "content_block_stop", "index": index})
        if answer.then != "end":
            self._wait_or_drop(answer)
            return
        delta = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
        self._event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
        self._event({"type": "message_stop"})

    def _wait_or_drop(self, answer: Answer) -> None:
        if answer.then == "hang":
            self.told.over.wait()
        self.close_connection = True

    def _event(self, event: dict[str, Any]) -> None:
        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()


def _stop_reason(answer: Answer) -> str:
    return answer.stop_reason or ("tool_use" if answer.calls else "end_turn")


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block as it starts, and what fills it."""
    match block:
        case {"type": "text", "text": str(text)}:
            return block | {"text": ""}, [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(text)]
            return block | {"thinking": "", "signature": ""}, [
                *deltas,
                {"type": "signature_delta", "signature": signature},
            ]
        case _:
            written = json.dumps(block["input"])
            return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in _pieces(written)]


def _pieces(text: str) -> list[str]:
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
