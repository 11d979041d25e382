"""A real agent without rekindle's daemon: one process, spoken to in its dialect, both directions written down."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rekindle.agents.base import observation as o
from rekindle.agents.base.dialect import Outgoing
from rekindle.agents.base.framing import Framer, Line
from rekindle.agents.base.kind import AgentKind, AgentStart
from rekindle.keeper.launch import end_leftovers
from rekindle.keeper.spec import STAMP_VARIABLE

SECONDS = 90.0


class AcpTalk:
    """Use it as a context manager; nothing of it is left behind."""

    def __init__(self, kind: AgentKind, cwd: Path, environment: Mapping[str, str], generation: int = 1) -> None:
        self.wire = kind.dialect(generation, str(cwd), None)
        self.sent: list[bytes] = []
        self.received: list[bytes] = []
        self.seen: list[o.Observation] = []
        self._stamp = f"rekindle-talk-{secrets.token_hex(8)}"
        start = AgentStart(how="new", token=None)
        self._process = subprocess.Popen(
            kind.argv(start),
            cwd=cwd,
            env={**environment, **kind.variables(start, environment), STAMP_VARIABLE: self._stamp},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._framer = Framer()

    def __enter__(self) -> AcpTalk:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def kill(self) -> None:
        """Kill it with its whole tree, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        end_leftovers(self._stamp, grace=0.0)
        self._process.wait()

    def open(self, token: str | None = None) -> o.Observation:
        """Begin a conversation, or load one; what came of it."""
        self.say(*self.wire.begin("new" if token is None else "load", token))
        return self.until(lambda one: isinstance(one, o.ConversationOpened | o.AgentRefusedToOpen))

    def prompt(self, name: str, text: str) -> o.Observation:
        """A whole turn; how it ended."""
        self.say(self.wire.say(name, text))
        return self.until(lambda one: isinstance(one, o.AgentFinishedTurn | o.AgentFailedTurn))

    def say(self, *messages: Outgoing) -> None:
        assert self._process.stdin is not None
        for message in messages:
            self.sent.append(message.line.rstrip(b"\n"))
            self.wire.sent(message.message_id, message.line)
            self._process.stdin.write(message.line)
            self._process.stdin.flush()

    def until(self, holds: Callable[[o.Observation], bool]) -> o.Observation:
        """The first new observation that the predicate holds for; permissions are given, other requests left."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if not select.select([self._process.stdout], [], [], 1.0)[0]:
                continue
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            assert data, "the agent has ended"
            found = [one for line in self._framer.feed(data) if isinstance(line, Line) for one in self._take(line.data)]
            for one in found:
                if holds(one):
                    return one
        raise AssertionError(f"it did not come about; it said {self.seen[-3:]}")

    def _take(self, line: bytes) -> list[o.Observation]:
        self.received.append(line)
        found = self.wire.received(line)
        self.seen += found
        for one in found:
            self.say(*self.wire.follow_up(one))
        return found
