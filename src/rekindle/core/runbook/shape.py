"""What a runbook file may contain, as types: the parser checks against them, and editors get them as a JSON Schema."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rekindle.core.runbook.triggers import (
    AskAction,
    ContextAction,
    ContextMatch,
    DeadAction,
    ErrorAction,
    ErrorClass,
    IdleAction,
    LimitAction,
    StallAction,
)

#: Words as one writes them in a shell (no shell runs them), or a list of arguments.
Command = str | list[str]
#: 90, "90s", "15m", "2h" or "1d".
Duration = str | int | float
Permission = Literal["edits", "ask", "deny", "all"]


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    message: str = ""
    append: bool = False
    run: Command = ""
    attempts: int | Literal["forever"] = 1
    cooldown: Duration | list[Duration] = 0


class OnIdle(_Rule, frozen=True, kw_only=True):
    """The agent is up, has nothing to do, and is not asking. A table that names no action nudges it."""

    action: IdleAction = "nudge"


class OnDead(_Rule, frozen=True, kw_only=True):
    """The agent is gone, and nobody asked it to end."""

    action: DeadAction


class OnError(_Rule, frozen=True, kw_only=True):
    """A turn failed. `match` is the type of the error; without it the rule is for every error."""

    action: ErrorAction
    match: ErrorClass | Literal["transient"] | None = None


class OnStall(_Rule, frozen=True, kw_only=True):
    """A turn runs, no tool does, and the agent has been silent for longer than its limit."""

    action: StallAction


class OnAsk(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The agent asks for permission. `match` is a pattern (`*`, `?`) for its title, its command or the kind of tool."""

    action: AskAction
    match: str = ""


class OnLimit(_Rule, frozen=True, kw_only=True):
    """A limit of the user's is reached: cost or tokens."""

    action: LimitAction


class OnContext(_Rule, frozen=True, kw_only=True):
    """The context window is full to the share `dehydrate_at`. `match`: for which sessions; without it, for all."""

    action: ContextAction
    match: ContextMatch | None = None


class LimitTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The limits of a session, called as the options of `rekindle run` are."""

    max_cost: float | None = None
    max_tokens: int | None = None
    timeout: Duration | None = None
    stall: Duration | None = None
    max_age: Duration | None = None
    max_resumes: int | None = None
    max_windows: int | None = None
    priority: Literal["low", "normal", "high"] | None = None
    dehydrate_at: float | None = None
    overflow: Literal["agent", "dehydrate"] | None = None


class ReactionTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to react. A key that is missing is taken from `[default]`, then from the built-in runbook."""

    on_idle: IdleAction | OnIdle | None = None
    on_dead: DeadAction | OnDead | None = None
    on_error: ErrorAction | OnError | list[OnError] | None = None
    on_stall: StallAction | OnStall | None = None
    on_ask: AskAction | OnAsk | list[OnAsk] | None = None
    on_limit: LimitAction | OnLimit | None = None
    on_context: ContextAction | OnContext | list[OnContext] | None = None


class AgentTable(ReactionTable, frozen=True, kw_only=True):
    """One agent: what it runs and how rekindle reacts to it."""

    run: Command
    kind: str = ""
    prompt: str = ""
    model: str = ""
    env: dict[str, str] = {}
    cwd: str = ""
    permission: Permission = "edits"
    limits: LimitTable = LimitTable()


class StepTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One step of a pipeline, worked in one session."""

    name: str
    agent: str
    prompt: str = ""
    needs: list[str] = []


class RunbookShape(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A runbook file."""

    default: ReactionTable = ReactionTable()
    agent: dict[str, AgentTable] = {}
    step: list[StepTable] = []


def json_schema() -> dict[str, Any]:
    """The file's JSON Schema."""
    found = msgspec.json.schema(RunbookShape)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "rekindle runbook", **found}
