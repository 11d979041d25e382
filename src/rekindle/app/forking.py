"""Resuming from an earlier point: the answers of a conversation, and a copy that starts after one of them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from rekindle.agents.base.kind import AgentKind
from rekindle.agents.registry import record_place
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import UsageError
from rekindle.ports.kept_sessions import KeptSessions

Told = dict[str, Any]


class Point(msgspec.Struct, frozen=True):
    """An answer in the agent's own record."""

    id: str
    text: str


class ForkRequest(msgspec.Struct, frozen=True):
    """`at` is an answer's number or id, `prompt` what the copy is told first."""

    session: str
    at: str
    prompt: str


class ForkedSession(msgspec.Struct, frozen=True):
    """The copy as the daemon shows it, and the session it was copied from."""

    original: str
    copy: Told


class Forking:
    """`environment` is the caller's, which a copy gets."""

    def __init__(
        self, daemon: Daemon, kept: KeptSessions, kinds: Mapping[str, AgentKind], environment: Mapping[str, str]
    ) -> None:
        self._daemon = daemon
        self._kept = kept
        self._kinds = kinds
        self._environment = environment

    def points(self, session: str) -> tuple[Point, ...]:
        """The answers in the agent's own record, oldest first."""
        return self._points(self._daemon.ask("show", session=session))

    def fork(self, asked: ForkRequest, copy: str = "", prompt_id: str = "") -> ForkedSession:
        """Start a copy of a session after one of its answers. The session is unchanged. Ids not given are made up."""
        told = self._daemon.ask("show", session=asked.session)
        names = [point.id for point in self._points(told)]
        number = int(asked.at) if asked.at.isascii() and asked.at.isdigit() else 0
        chosen = names[number - 1] if 0 < number <= len(names) else asked.at
        if chosen not in names:
            hint = f"list them: rekindle resume {told['id']} --at list"
            raise UsageError(f"{told['id']} has no answer {asked.at!r}", hint)
        if not asked.prompt.strip():
            raise UsageError("a fork needs a prompt", "give one with --prompt TEXT")
        begun = self._daemon.ask(
            "fork",
            session=told["id"],
            copy=copy or secrets.token_hex(5),
            prompt_id=prompt_id or secrets.token_hex(8),
            at=chosen,
            prompt=asked.prompt,
            env=dict(self._environment),
        )
        return ForkedSession(told["id"], begun)

    def _points(self, told: Told) -> tuple[Point, ...]:
        token = told["session"]["token"]
        kind = self._kinds.get(told["agent"])
        if token is None or kind is None or kind.transcript is None or not kind.can_fork:
            raise UsageError(
                f"{told['id']} cannot be resumed from an earlier point", f"{told['agent']} does not offer that"
            )
        environment = self._kept.environment(told["id"]) or dict(self._environment)
        place = record_place(told["agent"], environment, os.path.realpath(told["cwd"]), token)
        data = self._kept.record(place) if place is not None else None
        return tuple(Point(*one) for one in kind.transcript.read(data).points) if data is not None else ()
