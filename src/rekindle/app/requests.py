"""What the daemon is asked for, where it takes more than a few words. The same types on both ends of the wire."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.app.feature_resume import Choice


class DaemonRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request is whole, and says nothing that nobody understands."""


class BeginRequest(DaemonRequest, frozen=True, kw_only=True):
    """A session with its first prompt; with `worktree` (a name, or empty) in a worktree of its own.

    The ids of both are the asker's own, so that asking again is harmless: the session is the same one. `env` is what
    its agent gets.
    """

    session: str
    prompt_id: str
    agent: str
    cwd: str
    prompt: str
    env: dict[str, str]
    title: str = ""
    policy: str = "ask"
    permission: str = "edits"
    feature: str | None = None
    task: str | None = None
    arguments: list[str] | None = None
    model: str | None = None
    limits: dict[str, Any] | None = None
    one_shot: bool = False
    terminal: bool = False
    worktree: str | None = None
    worktrees_dir: str | None = None


class ResumeRequest(DaemonRequest, frozen=True, kw_only=True):
    """A session whose agent is brought back. `native`: load the agent's own record, or not; by default as it can.

    With `agent` another one goes on with the session, told its history; `model` and `env` are then the new one's.
    """

    session: str
    by: str
    kill: bool = False
    limits: dict[str, Any] | None = None
    native: bool | None = None
    agent: str | None = None
    model: str | None = None
    env: dict[str, str] | None = None


class PlanRequest(DaemonRequest, frozen=True, kw_only=True, omit_defaults=True):
    """A plan that is run as a new feature: its text, and the name of the file that it comes from.

    `again`: it is run although it was finished before.
    """

    cwd: str
    plan: str
    name: str
    env: dict[str, str]
    mode: str | None = None
    jobs: int | None = None
    permission: str = "edits"
    again: bool = False


class FeatureResumeRequest(DaemonRequest, frozen=True, kw_only=True):
    """A feature that is resumed, with the answers to what that asks. `seen` is the run that they were given about.

    `trust` is the yes to a journal that was written elsewhere, `remove_locks` the yes to removing stale locks;
    `take` and `leave` are tasks whose strays go with them or stay out.
    """

    cwd: str
    feature: str
    env: dict[str, str]
    choice: Choice | None = None
    instructions: str = ""
    plan: str | None = None
    name: str = ""
    jobs: int | None = None
    permission: str = "edits"
    seen: str | None = None
    trust: str = ""
    take: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    remove_locks: bool = False


class AppendRequest(DaemonRequest, frozen=True, kw_only=True):
    """An event for a feature's journal. The daemon itself says whether an agent has asked for it."""

    cwd: str
    feature: str
    type: str
    data: dict[str, Any] | None = None
    sid: str | None = None
    agent: str | None = None
    pane_id: str | None = None
    event_id: str | None = None
    by_agent: bool = False
