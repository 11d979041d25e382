"""The server behind every mock model: loopback only, a script of steps, a record of each request.

A request of the agent's conversation takes the first rule whose predicate holds, else the next step of the queue, else
the default. Everything that arrives is recorded in full before it is answered, so the record is what the model saw.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from tests.real.models.steps import Drop, Gate, Reply, Step

_LOOK_SECONDS = 0.05


@dataclass
class Request:
    """One request, as it arrived. `ended` tells what became of it."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    is_turn: bool
    step: Step | None = None
    ended: str = ""


@dataclass
class Rule:
    """A step for every request that the predicate holds for, a number of times or always."""

    holds: Callable[[Request], bool]
    step: Step
    left: int | None = None


class Dialect(Protocol):
    """One vendor's API: which requests are turns, how a step looks on the wire, what a request says."""

    def is_turn(self, method: str, path: str, body: Any) -> bool:
        """Whether it asks the model to go on with the conversation."""

    def aside(self, request: Request, wire: Wire) -> None:
        """Answer anything that is no turn."""

    def answer(self, request: Request, step: Step, wire: Wire) -> None:
        """Put a step on the wire."""

    def user_texts(self, request: Request) -> list[str]:
        """What the user has said in the conversation so far, the agent's own additions left out."""

    def assistant_texts(self, request: Request) -> list[str]:
        """What the model has said so far, as the agent reports it."""

    def tool_results(self, request: Request) -> list[str]:
        """What the tools gave, as the agent reports it."""


class ClientGone(Exception):
    """The agent has closed its connection."""


class Wire:
    """The answering half of one HTTP exchange."""

    def __init__(self, handler: BaseHTTPRequestHandler, stopped: threading.Event) -> None:
        self._handler = handler
        self._stopped = stopped

    def whole(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        """A JSON answer in one piece."""
        data = json.dumps(body).encode()
        self._head(status, {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})})
        self._write(data if self._handler.command != "HEAD" else b"")

    def begin_events(self) -> None:
        """The head of a server-sent event stream."""
        self._head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})

    def event(self, name: str | None, data: Any) -> None:
        """One server-sent event."""
        named = f"event: {name}\n" if name else ""
        line = f"{named}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
        self._write(b"%x\r\n%s\r\n" % (len(line), line))

    def end_events(self) -> None:
        """The end of the stream."""
        self._write(b"0\r\n\r\n")

    def cut(self) -> None:
        """Close the connection in the middle of whatever it is."""
        self._handler.close_connection = True
        try:
            self._handler.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def stall(self, gate: Gate) -> None:
        """Send nothing until the gate opens. Raises ClientGone."""
        connection = self._handler.connection
        while not gate.wait(_LOOK_SECONDS):
            if self._stopped.is_set():
                raise ClientGone
            readable, _, _ = select.select([connection], [], [], 0)
            if readable and not connection.recv(1, socket.MSG_PEEK):
                raise ClientGone

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def _write(self, data: bytes) -> None:
        self._handler.wfile.write(data)
        self._handler.wfile.flush()


class ModelServer:
    """A mock model on 127.0.0.1. Use it as a context manager."""

    def __init__(self, dialect: Dialect, port: int = 0) -> None:
        self.dialect = dialect
        self.default: Step = Reply("mock reply")
        self._lock = threading.Condition()
        self._requests: list[Request] = []
        self._rules: list[Rule] = []
        self._queue: list[Step] = []
        self._stopped = threading.Event()
        self._server = _Server(("127.0.0.1", port), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def then(self, *steps: Step) -> None:
        """Put steps at the end of the queue."""
        with self._lock:
            self._queue += steps

    def when(self, holds: Callable[[Request], bool], step: Step, times: int | None = None) -> Rule:
        """Answer with a step whenever a request is like this, ahead of the queue."""
        rule = Rule(holds, step, times)
        with self._lock:
            self._rules.append(rule)
        return rule

    def withdraw(self, rule: Rule) -> None:
        """A rule holds no longer."""
        with self._lock:
            self._rules.remove(rule)

    def turns(self) -> list[Request]:
        """Every request of a conversation so far, in order."""
        with self._lock:
            return [request for request in self._requests if request.is_turn]

    def everything(self) -> list[Request]:
        """Every request of any kind."""
        with self._lock:
            return list(self._requests)

    def until_turns(self, number: int, seconds: float = 60.0) -> list[Request]:
        """Wait until the model was asked that often."""
        with self._lock:
            done = self._lock.wait_for(lambda: sum(one.is_turn for one in self._requests) >= number, seconds)
        assert done, f"the model was asked {len(self.turns())} times, not {number}"
        return self.turns()

    def until_ended(self, request: Request, seconds: float = 60.0) -> str:
        """Wait until a request was answered or given up; returns which."""
        with self._lock:
            done = self._lock.wait_for(lambda: request.ended, seconds)
        assert done, f"request {request.number} is still open"
        return request.ended

    def user_texts(self, request: Request) -> list[str]:
        return self.dialect.user_texts(request)

    def assistant_texts(self, request: Request) -> list[str]:
        return self.dialect.assistant_texts(request)

    def tool_results(self, request: Request) -> list[str]:
        return self.dialect.tool_results(request)

    def requests_with(self, text: str) -> list[Request]:
        """The turns in which the user has said this, anywhere in the conversation."""
        return [one for one in self.turns() if any(text in said for said in self.user_texts(one))]

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: Any, wire: Wire) -> None:
        """Record a request, then answer it."""
        with self._lock:
            is_turn = self.dialect.is_turn(method, path, body)
            request = Request(len(self._requests) + 1, method, path, headers, body, is_turn)
            request.step = self._choose(request) if is_turn else None
            self._requests.append(request)
            self._lock.notify_all()
        ended = "answered"
        try:
            if request.step is None:
                self.dialect.aside(request, wire)
            else:
                self.dialect.answer(request, request.step, wire)
                ended = "cut" if isinstance(request.step, Drop) else "answered"
        except (ClientGone, ConnectionError):
            ended = "client gone"
            wire.cut()
        with self._lock:
            request.ended = ended
            self._lock.notify_all()

    def _choose(self, request: Request) -> Step:
        for rule in self._rules:
            if rule.left != 0 and rule.holds(request):
                rule.left = None if rule.left is None else rule.left - 1
                return rule.step
        return self._queue.pop(0) if self._queue else self.default


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that goes away in the middle is what these tests are about."""


def _handler_of(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def _any(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            try:
                body = json.loads(raw) if raw else None
            except ValueError:
                body = raw.decode("utf-8", "replace")
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.handle(self.command, self.path, headers, body, Wire(self, server._stopped))

        do_HEAD = do_GET = do_POST = _any

    return Handler
