"""The larger requests to the daemon. The same types are used on both ends of the wire."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rekindle.core.job.order import JobOrder

Choice = Literal["A", "B", "C"]


class DaemonRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request must be complete, and have no unknown fields."""


class BeginRequest(DaemonRequest, frozen=True, kw_only=True):
    """A session with its first prompt; with `worktree` (a name, or empty) in a worktree of its own.

    The caller chooses both ids, so asking again is harmless: it is the same session. `env` is what its agent gets.
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
    rules: dict[str, Any] | None = None
    rules_source: str = ""
    rules_digest: str = ""
    program: str = ""


class ResumeRequest(DaemonRequest, frozen=True, kw_only=True):
    """A session whose agent is brought back. `native`: load the agent's own record or not; by default if it can.

    With `agent`, another agent continues the session and is told its history; `model` and `env` are the new one's.
    `hold`: the conversation is opened, and a turn that was cut off does not go on before somebody asks for that.
    """

    session: str
    by: str
    kill: bool = False
    hold: bool = False
    limits: dict[str, Any] | None = None
    native: bool | None = None
    agent: str | None = None
    model: str | None = None
    env: dict[str, str] | None = None
    rules: dict[str, Any] | None = None
    rules_source: str = ""
    rules_digest: str = ""


class JobRequest(DaemonRequest, frozen=True, kw_only=True):
    """A job. The caller chooses its id, so asking again is harmless: it is the same job.

    `env` is what its agents get; `step_env` is what each step has besides.
    """

    job: str
    order: JobOrder
    env: dict[str, str]
    step_env: dict[str, dict[str, str]] = {}
    by: str = "user"


class PlanRequest(DaemonRequest, frozen=True, kw_only=True, omit_defaults=True):
    """A plan to run as a new feature: its text, and the name of its file.

    `agent` works on tasks that name none. `again`: run it even if it was finished before.
    """

    cwd: str
    plan: str
    name: str
    env: dict[str, str]
    mode: str | None = None
    jobs: int | None = None
    agent: str = ""
    permission: str = ""
    limits: dict[str, float | int] | None = None
    again: bool = False


class FeatureResumeRequest(DaemonRequest, frozen=True, kw_only=True):
    """A feature to resume, with the answers to the resume's questions. `seen` is the run that they are about.

    `trust` approves a journal that was written elsewhere, `remove_locks` approves removing stale locks;
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
    agent: str = ""
    permission: str = ""
    limits: dict[str, float | int] | None = None
    seen: str | None = None
    trust: str = ""
    take: tuple[str, ...] = ()
    leave: tuple[str, ...] = ()
    remove_locks: bool = False


class AppendRequest(DaemonRequest, frozen=True, kw_only=True):
    """An event for a feature's journal. The daemon itself determines whether an agent sent it."""

    cwd: str
    feature: str
    type: str
    data: dict[str, Any] | None = None
    sid: str | None = None
    agent: str | None = None
    pane_id: str | None = None
    event_id: str | None = None
    by_agent: bool = False
