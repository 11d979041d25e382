"""A workplace without a machine under it; held to the promises of the port by the conformance suite."""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rekindle.agents.base.conversation import ConversationEntry, as_turns, last_turns
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult
from rekindle.agents.base.observation import CallbackAsked
from rekindle.core.session.history import Turn
from rekindle.core.session.state import Session
from rekindle.ports.errors import WorktreeLost
from rekindle.ports.feature import CommandDone
from tests.fakes.conversations import FakeAttempt, FakeConversations

_FILES = ("fs/read_text_file", "fs/write_text_file")
_CHANGING = ("fs/write_text_file", "terminal/create")


class FakeWorkplace:
    """See `rekindle.ports.workplace.Workplace`. What is in the machine that is not there, a test puts here.

    `spools` are those of each session by attempt; without any, a session's own prompts are all that is known of what
    was said. Of commands, `echo` ends at once, and all others run until they are ended.
    """

    def __init__(self) -> None:
        self.begun_in: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.lost: set[str] = set()
        self.missing: set[str] = set()
        self.differing: dict[str, set[str]] = {}
        self.files: dict[str, str] = {}
        self.spools: dict[str, dict[int, FakeAttempt]] = {}
        self.terminals: dict[str, FakeTerminal] = {}
        self.gates: list[tuple[str, tuple[str, ...]]] = []
        self._agents: dict[tuple[str, int], str] = {}

    def note_agent(self, session: Session) -> None:
        assert session.attempt is not None
        self._agents[session.id, session.attempt.number] = session.agent

    def environment(self, session: Session) -> dict[str, str]:
        feature = {"REKINDLE_FEATURE": session.feature} if session.feature is not None else {}
        return {**self.begun_in, "PWD": session.cwd, "REKINDLE_SESSION": session.id, **feature}

    def resolve(self, cwd: str, paths: Iterable[str]) -> list[str]:
        return [self._real(posixpath.normpath(posixpath.join(cwd, path))) for path in paths]

    def _real(self, path: str) -> str:
        for link, target in self.links.items():
            if path == link or path.startswith(f"{link}/"):
                return self._real(target + path.removeprefix(link))
        return path

    async def ready(self, session: Session) -> list[str]:
        if session.cwd in self.lost:
            raise WorktreeLost(f"the folder {session.cwd} is gone")
        if session.cwd in self.missing:
            self.missing.discard(session.cwd)
            return [f"{session.cwd} was gone and has been built again"]
        return []

    async def changed(self, session: Session) -> list[str]:
        return sorted(self.differing.get(session.id, ()))

    async def history(self, session: Session) -> list[Turn]:
        if session.id not in self.spools:
            return [Turn("user", prompt.text) for prompt in session.prompts if prompt.attempt]
        return as_turns(self._read(session, None))

    async def last_turns(self, session: Session, attempts: Collection[int]) -> dict[int, str]:
        return last_turns(self._read(session, attempts))

    def _read(self, session: Session, attempts: Collection[int] | None) -> list[ConversationEntry]:
        found: list[ConversationEntry] = []
        for number, kept in sorted(self.spools.get(session.id, {}).items()):
            conversations = FakeConversations(self._agents.get((session.id, number), session.agent))
            conversations.sessions[session.id] = {number: kept}
            found += conversations.read(session.id, attempts)
        return found

    async def end_terminals(self, session: Session) -> None:
        for one in self.terminals.values():
            if one.session == session.id:
                one.end()

    async def run_gate(self, session: Session, words: Sequence[str]) -> CommandDone:
        """`true` passes, all else fails and says what was to be run; what ran is kept in `gates`."""
        self.gates.append((session.id, tuple(words)))
        return CommandDone(words[0] == "true", "" if words[0] == "true" else f"{words[0]} failed")

    async def serve(self, session: Session, attempt: int, asked: CallbackAsked) -> CallbackResult:
        if session.permission == "deny" and asked.method in _CHANGING:
            return CallbackRefused("not_allowed", "this session may not change anything")
        path = posixpath.normpath(posixpath.join(session.cwd, str(asked.params.get("path", ""))))
        if asked.method in _FILES and not self._real(path).startswith(f"{session.cwd}/"):
            return CallbackRefused("bad_request", f"{path} is outside of {session.cwd}")
        match asked.method:
            case "fs/read_text_file":
                return {"content": self.files[path]} if path in self.files else CallbackRefused("not_found", path)
            case "fs/write_text_file":
                self.files[path] = asked.params["content"]
                return {}
            case "terminal/create":
                name = f"{session.id}-{attempt}-{asked.request_id}"
                self.terminals.setdefault(name, FakeTerminal(session.id, asked.params))
                return {"terminalId": name}
            case "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
                found = self.terminals.get(asked.params["terminalId"])
                if found is None or found.released:
                    return CallbackRefused("not_found", "there is no such terminal")
                return await found.serve(asked.method)
            case _:
                return CallbackRefused("not_served", f"{asked.method} is not served")


class FakeTerminal:
    """A command that an agent has had us run."""

    def __init__(self, session: str, order: dict[str, Any]) -> None:
        self.session = session
        self.output = ""
        self.released = False
        self._status: dict[str, Any] | None = None
        if order["command"] == "echo":
            self.output = " ".join(order.get("args", [])) + "\n"
            self._status = {"exitCode": 0, "signal": None}

    def end(self) -> None:
        self._status = self._status or {"exitCode": None, "signal": "SIGTERM"}

    async def serve(self, method: str) -> CallbackResult:
        if method == "terminal/output":
            ended = {"exitStatus": self._status} if self._status is not None else {}
            return {"output": self.output, "truncated": False, **ended}
        if method == "terminal/wait_for_exit":
            while self._status is None:
                await asyncio.sleep(0)
            return self._status
        self.end()
        self.released = method == "terminal/release"
        return {}
