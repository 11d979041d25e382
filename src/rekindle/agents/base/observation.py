"""What any agent's stream can tell us, in the same terms for all agents.

Only data: a dialect makes these from bytes, the session's fold makes events from them. They are tagged, so that they
can be written down and read back. `replay` marks what the agent repeats of its past while it loads a conversation.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from rekindle.core.session.facts import ErrorClass, Usage
from rekindle.core.session.permission import Option

#: An id that the agent chose for a request of its own.
RequestId: TypeAlias = int | float | str | None
How: TypeAlias = Literal["new", "load", "resume"]
Problem: TypeAlias = Literal["unknown_session", "unsupported", "unauthorized", "other"]


class OpenTool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call that was started and is not known to have ended. `command` is what it runs, if the agent says so."""

    tool_id: str
    title: str
    kind: str
    paths: tuple[str, ...]
    status: str
    command: str = ""

    @property
    def words(self) -> str:
        """What it does: some agents give a command a title that does not contain the command."""
        return self.title if self.command in self.title else f"{self.title}: {self.command}"


class Initialized(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    protocol_version: int
    agent_name: str
    agent_version: str
    can_load: bool
    can_resume: bool
    can_list: bool
    auth_methods: tuple[str, ...]


class ConversationOpened(msgspec.Struct, frozen=True, tag=True):
    token: str
    how: How


class AgentRefusedToOpen(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """No conversation: the agent refused to open it or, if `how` is "initialize", refused to talk at all."""

    how: How | Literal["initialize"]
    problem: Problem
    code: int | None
    message: str


class ConversationNamed(msgspec.Struct, frozen=True, tag=True):
    """The agent's own name for the conversation that it is in."""

    token: str


class UserReplayed(msgspec.Struct, frozen=True, tag=True):
    """A past prompt, repeated by the agent: it proves that the conversation is the same."""

    text: str


class UserEchoed(msgspec.Struct, frozen=True, tag=True):
    """A current prompt, repeated by the agent: it proves that the prompt arrived."""

    text: str


class Said(msgspec.Struct, frozen=True, tag=True):
    text: str
    thought: bool
    replay: bool = False


class ToolStarted(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    tool_id: str
    title: str
    kind: str
    paths: tuple[str, ...]
    replay: bool = False


class ToolChanged(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """`status` is None if the agent changed something else."""

    tool_id: str
    status: str | None
    title: str | None = None
    output: str | None = None
    replay: bool = False


class PlanEntry(msgspec.Struct, frozen=True):
    content: str
    status: str
    priority: str


class PlanShown(msgspec.Struct, frozen=True, tag=True):
    entries: tuple[PlanEntry, ...]
    replay: bool = False


class ContextUsed(msgspec.Struct, frozen=True, tag=True):
    """How full the context window is, in tokens."""

    used: int
    size: int


class AgentSpent(msgspec.Struct, frozen=True, tag=True):
    """What the running turn has used so far."""

    prompt_id: str
    usage: Usage


class AgentAskedPermission(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """`paths` are as the agent wrote them, not resolved. `detail` is what it would do beyond its title."""

    request_id: RequestId
    tool_id: str
    title: str
    kind: str
    paths: tuple[str, ...]
    options: tuple[Option, ...]
    detail: str = ""


class CallbackAsked(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Any other request from the agent; one that we do not serve has to be refused, or the agent waits forever."""

    request_id: RequestId
    method: str
    params: dict[str, Any]


class AgentFinishedTurn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    prompt_id: str
    stop_reason: str
    usage: Usage | None = None


class AgentFailedTurn(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """`resets_at` is in seconds since 1970, if the agent said when its limit ends.

    `transient`: the same may work later, without anybody doing anything.
    """

    prompt_id: str
    error_class: ErrorClass
    code: int | None
    message: str
    retry_after_seconds: float | None = None
    resets_at: float | None = None
    limit: str = ""
    transient: bool = False
    usage: Usage | None = None


class Retrying(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The agent tries again by itself."""

    attempt: int
    of: int
    seconds: float
    why: str


class AgentCompacted(msgspec.Struct, frozen=True, tag=True):
    """The agent has shortened its own conversation."""

    why: str


class Noise(msgspec.Struct, frozen=True, tag=True):
    """A line that changed nothing, and why: agents print banners to stdout."""

    reason: str
    excerpt: str


class Unknown(msgspec.Struct, frozen=True, tag=True):
    """A well-formed notification that means nothing to us."""

    method: str


Observation: TypeAlias = (
    Initialized
    | ConversationOpened
    | AgentRefusedToOpen
    | ConversationNamed
    | UserReplayed
    | UserEchoed
    | Said
    | ToolStarted
    | ToolChanged
    | PlanShown
    | ContextUsed
    | AgentSpent
    | AgentAskedPermission
    | CallbackAsked
    | AgentFinishedTurn
    | AgentFailedTurn
    | Retrying
    | AgentCompacted
    | Noise
    | Unknown
)
