"""A new session: where it is begun, and as part of which feature."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rekindle.app.requests import BeginRequest
from rekindle.ports.daemon import Daemon
from rekindle.ports.workspace import Checkout


class RunRequest(msgspec.Struct, frozen=True):
    """A prompt for a new session. `worktree`: in one of its own, of that name (empty: the session's id)."""

    prompt: str
    agent: str
    cwd: str
    title: str = ""
    policy: str = "ask"
    permission: str = "edits"
    task: str | None = None
    arguments: tuple[str, ...] = ()
    model: str | None = None
    limits: dict[str, float | int] = {}
    one_shot: bool = False
    terminal: bool = False
    worktree: str | None = None


class SessionStarts:
    """Begins sessions. `worktrees_dir` tells where a repository's (or nobody's) worktrees are made."""

    def __init__(
        self,
        daemon: Daemon,
        find: Callable[[str], Checkout | None],
        worktrees_dir: Callable[[str | None], str | None],
        environment: Mapping[str, str],
    ) -> None:
        self._daemon = daemon
        self._find = find
        self._worktrees_dir = worktrees_dir
        self._environment = environment

    def begin(self, asked: RunRequest) -> dict[str, Any]:
        """Have the daemon begin it; it is shown as the daemon shows sessions."""
        folder = os.path.realpath(asked.cwd)
        repo = self._find(folder) if os.path.isdir(folder) else None
        order = BeginRequest(
            session=secrets.token_hex(5),
            prompt_id=secrets.token_hex(4),
            agent=asked.agent,
            cwd=folder,
            prompt=asked.prompt,
            env=dict(self._environment),
            title=asked.title,
            policy=asked.policy,
            permission=asked.permission,
            feature=repo.feature if repo is not None else None,
            task=asked.task,
            arguments=list(asked.arguments),
            model=asked.model,
            limits=asked.limits,
            one_shot=asked.one_shot,
            terminal=asked.terminal,
            worktree=asked.worktree,
            worktrees_dir=self._worktrees_dir(repo.root if repo is not None else None),
        )
        return self._daemon.ask("run", **msgspec.to_builtins(order))
