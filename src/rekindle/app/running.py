"""A new session: where it starts, and as part of which feature."""

from __future__ import annotations

import os
import secrets

import msgspec

from rekindle.app.requests import BeginRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from rekindle.app.runbooks import GivenRules
    from rekindle.core.session.rules import Rules
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
    stable_prompt: str = "off"
    policy_given: bool = False
    runbook: GivenRules | None = None


class SessionStarts:
    """Starts sessions. `worktrees_dir` gives the folder for worktrees of a repository (or of none).

    `stable` gives what an agent's environment needs to keep its system prompt the same. A session's environment is
    stored with it, so it is the same at every resume.
    """

    def __init__(
        self,
        daemon: Daemon,
        find: Callable[[str], Checkout | None],
        worktrees_dir: Callable[[str | None], str | None],
        stable: Callable[[str], dict[str, str]],
        environment: Mapping[str, str],
        own_runbook: Callable[[], GivenRules | None],
    ) -> None:
        self._own_runbook = own_runbook
        self._daemon = daemon
        self._find = find
        self._worktrees_dir = worktrees_dir
        self._stable = stable
        self._environment = environment

    def begin(self, asked: RunRequest, session: str = "", prompt: str = "") -> dict[str, Any]:
        """Have the daemon start it; returns it as the daemon shows sessions. Ids that are not given are made up."""
        folder = os.path.realpath(asked.cwd)
        repo = self._find(folder) if os.path.isdir(folder) else None
        given = asked.runbook or self._own_runbook()
        rules = _rules(asked, given) if given is not None else None
        agent = given.agent if given is not None else None
        order = BeginRequest(
            session=session or secrets.token_hex(5),
            prompt_id=prompt or secrets.token_hex(4),
            agent=asked.agent,
            cwd=folder,
            prompt=asked.prompt,
            env={
                **self._environment,
                **(agent.env if agent is not None else {}),
                **(self._stable(asked.agent) if asked.stable_prompt == "on" else {}),
            },
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
            rules=msgspec.to_builtins(rules) if rules is not None else None,
            rules_source=os.path.abspath(given.source) if given is not None and rules is not None else "",
            rules_digest=given.digest if given is not None and rules is not None else "",
            program=agent.program if agent is not None and agent.program != agent.kind else "",
            worktrees_dir=self._worktrees_dir(repo.root if repo is not None else None),
        )
        return self._daemon.ask("run", **msgspec.to_builtins(order))


def _rules(asked: RunRequest, given: GivenRules) -> Rules | None:
    from rekindle.core.session.rules import ruled

    return ruled(asked.policy, given.reactions, policy_given=asked.policy_given)
