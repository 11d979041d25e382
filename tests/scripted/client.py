"""A small ACP client for tests: raw JSON-RPC lines over pipes to a real process, nothing of the SDK.

Every wait is for a message or for the end of the process, with a deadline; nothing sleeps. What the agent sent stays in
`seen`, and the `place` fixture holds it against the SDK's schema.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECONDS = 60.0
Message = dict[str, Any]


class AgentGone(Exception):
    """The agent's output ended while something was expected of it."""


class Wire:
    """One agent process and the messages that went both ways."""

    def __init__(
        self,
        home: Path,
        *words: str,
        stderr: Path | None = None,
        answers: dict[str, Callable[[Message], Any]] | None = None,
    ) -> None:
        self.answers = answers or {}
        self.seen: list[Message] = []
        self._ids = itertools.count(1)
        self._inbox: queue.Queue[Message | None] = queue.Queue()
        environment = {"PATH": os.environ["PATH"], "HOME": str(home.parent), "LANG": "C.UTF-8"}
        with open(stderr or os.devnull, "wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "rekindle.scripted", "--home", str(home), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip():
                self._inbox.put(json.loads(line))
        self._inbox.put(None)

    def send(self, message: Message) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: Message, request_id: str | int | None = None) -> str | int:
        chosen = request_id if request_id is not None else f"1-{next(self._ids)}"
        self.send({"id": chosen, "method": method, "params": params})
        return chosen

    def notify(self, method: str, params: Message) -> None:
        self.send({"method": method, "params": params})

    def next(self) -> Message:
        """The agent's next message; its requests are answered on the way if the test said how."""
        message = self._inbox.get(timeout=SECONDS)
        if message is None:
            raise AgentGone
        self.seen.append(message)
        answer = self.answers.get(message.get("method", ""))
        if answer is not None and "id" in message:
            self.send({"id": message["id"], "result": answer(message["params"])})
        return message

    def until(self, wanted: Callable[[Message], bool]) -> Message:
        while not wanted(message := self.next()):
            pass
        return message

    def until_text(self, text: str) -> None:
        self.until(lambda message: text in _chunk(message))

    def until_tool(self, status: str) -> Message:
        update = self.until(lambda message: _update(message).get("status") == status)
        return _update(update)

    def response(self, request_id: str | int) -> Message:
        return self.until(lambda message: "method" not in message and message["id"] == request_id)

    def call(self, method: str, params: Message) -> Message:
        return self.response(self.request(method, params))

    def result(self, method: str, params: Message) -> Any:
        answer = self.call(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, params: Message) -> Message:
        answer = self.call(method, params)
        error: Message = answer["error"]
        return error

    def initialize(self, **capabilities: Any) -> Message:
        found: Message = self.result("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        return found

    def new(self, cwd: Path) -> str:
        session_id: str = self.result("session/new", {"cwd": str(cwd), "mcpServers": []})["sessionId"]
        return session_id

    def load(self, session_id: str, cwd: Path) -> list[Message]:
        """Load a session; the updates that came before the answer."""
        before = len(self.seen)
        self.result("session/load", {"sessionId": session_id, "cwd": str(cwd), "mcpServers": []})
        return [_update(message) for message in self.seen[before:-1]]

    def start(self, session_id: str, text: str, request_id: str | None = None) -> str | int:
        """Send a prompt and do not wait for its end."""
        return self.request(
            "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}, request_id
        )

    def prompt(self, session_id: str, text: str) -> Turned:
        return self.finish(self.start(session_id, text))

    def finish(self, request_id: str | int) -> Turned:
        before = len(self.seen)
        answer = self.response(request_id)
        return Turned([_update(message) for message in self.seen[before:-1]], answer)

    def cancel(self, session_id: str) -> None:
        self.notify("session/cancel", {"sessionId": session_id})

    def kill(self, number: int = signal.SIGKILL) -> int:
        self.process.send_signal(number)
        return self.gone()

    def gone(self) -> int:
        """Wait for the end of the process, and return its status."""
        return self.process.wait(SECONDS)

    def close(self) -> int:
        """Close the agent's input and wait for its end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            status = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self._reader.join(SECONDS)
        self.process.stdout.close()
        return status


class Turned:
    """A turn that is over: its updates and its answer."""

    def __init__(self, updates: list[Message], answer: Message) -> None:
        self.updates = updates
        self.answer = answer

    @property
    def stop(self) -> str:
        stop: str = self.answer["result"]["stopReason"]
        return stop

    @property
    def said(self) -> str:
        return said(self.updates)

    @property
    def tools(self) -> list[tuple[str, str]]:
        """Title and status of each tool call, as updates came."""
        titles: dict[str, str] = {}
        found: list[tuple[str, str]] = []
        for update in self.updates:
            if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
                titles.setdefault(update["toolCallId"], update.get("title", ""))
                found.append((titles[update["toolCallId"]], update["status"]))
        return found

    @property
    def output(self) -> str:
        """The text of the last tool call."""
        text: str = self.updates_of("tool_call_update")[-1]["content"][0]["content"]["text"]
        return text

    def updates_of(self, kind: str) -> list[Message]:
        return [update for update in self.updates if update.get("sessionUpdate") == kind]


def said(updates: list[Message]) -> str:
    return "".join(
        update["content"]["text"] for update in updates if update.get("sessionUpdate") == "agent_message_chunk"
    )


def _update(message: Message) -> Message:
    update: Message = message.get("params", {}).get("update", {}) if message.get("method") == "session/update" else {}
    return update


def _chunk(message: Message) -> str:
    return said([_update(message)])
