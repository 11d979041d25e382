"""What every agent's language can do: read the two spools of one agent process, say what they mean and what to send.

A dialect is sans-IO. A daemon folds while it works, the next one folds the files, and both come to the same state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from rekindle.agents.base.framing import Oversized
from rekindle.agents.base.observation import (
    AgentAskedPermission,
    CallbackAsked,
    How,
    Initialized,
    Observation,
    OpenTool,
)
from rekindle.agents.base.transcript import Record


class Outgoing(msgspec.Struct, frozen=True):
    """`message_id` is for the keeper, `line` (with its newline) for the agent."""

    message_id: str
    line: bytes


class Keys(msgspec.Struct, frozen=True):
    """Something to type, and how long to wait after it."""

    message: Outgoing
    seconds: float


class CallbackRefused(msgspec.Struct, frozen=True):
    """Why the agent is not given what it asked for. The message is for the agent."""

    reason: Literal["not_served", "bad_request", "not_found", "not_allowed", "failed"]
    message: str


CallbackResult: TypeAlias = dict[str, Any] | CallbackRefused

#: What an agent's silence means: nothing, that the program is ready, or how far the running turn is.
Silence: TypeAlias = Literal["nothing", "ready", "began", "over", "unseen"]


class Awaited(msgspec.Struct, frozen=True):
    """The running turn. `earlier` is how often the agent's own record has this text in prompts before it."""

    text: str
    earlier: int


class OurRequest(msgspec.Struct, frozen=True):
    """A request of ours without a response. `prompt_id` is empty unless it is a prompt."""

    request_id: str
    method: str
    token: str
    prompt_id: str


class Opening(msgspec.Struct, frozen=True):
    """How to open a conversation, and which one, as far as our own messages name it."""

    how: How
    token: str | None


class OpenState(msgspec.Struct, frozen=True, kw_only=True):
    """What the next daemon has to know. `said` and `tools` belong to the running turn, empty if none runs.

    `background` are tools that were started in any turn, outlive it, and are not known to have ended. `finished` are
    the ids of those that ended in the running turn.
    """

    initialized: Initialized | None
    token: str | None
    opened: How | None
    awaiting: tuple[OurRequest, ...]
    unanswered: tuple[AgentAskedPermission | CallbackAsked, ...]
    prompt_id: str | None
    cancelling: bool
    said: str
    tools: tuple[OpenTool, ...]
    background: tuple[OpenTool, ...] = ()
    finished: tuple[str, ...] = ()


class Dialect(Protocol):
    """The language of one agent process. Any bytes are allowed: nothing here raises."""

    @property
    def open(self) -> OpenState:
        """What is still open between the agent and us."""
        ...

    @property
    def asked(self) -> Opening | None:
        """What we asked for first: all that is known about the conversation until the agent has opened it."""
        ...

    @property
    def token(self) -> str | None:
        """The conversation's name, as the agent reported it."""
        ...

    @property
    def is_prompting(self) -> bool:
        """Whether a turn is running."""
        ...

    def begin(self, how: How, token: str | None) -> list[Outgoing]:
        """The messages that ask for the conversation to be opened."""
        ...

    def follow_up(self, seen: Observation) -> list[Outgoing]:
        """What to send in reply to something the agent says while it opens the conversation."""
        ...

    def approach(self, prompt_id: str, text: str) -> list[Keys]:
        """What to type before the message that carries a prompt, while nobody else is typing."""
        ...

    def say(self, prompt_id: str, text: str) -> Outgoing:
        """The message that carries a prompt."""
        ...

    def cancel(self, prompt_id: str) -> list[Outgoing]:
        """The messages that end a turn."""
        ...

    def answer(self, request: str, option: str | None) -> Outgoing | None:
        """The answer to a request for permission, if it is still open."""
        ...

    def reply(self, asked: CallbackAsked, result: CallbackResult) -> Outgoing | None:
        """The answer to something that the agent asked us to do."""
        ...

    def prompt_in(self, message_id: str, line: bytes) -> tuple[str, str] | None:
        """The id and text of the prompt, if our message is one."""
        ...

    def was_sent(self, message_id: str) -> bool: ...

    def sent(self, message_id: str, line: bytes) -> None:
        """One record of the input spool, in order. Feeding the same record again changes nothing."""
        ...

    def showed(self, data: bytes) -> None:
        """Bytes of the output spool as they come, whole lines or not."""
        ...

    def silence(self, seconds: float, turn: Awaited | None, record: Record | None) -> Silence:
        """What it means that the agent has shown nothing for this long. `record` is its own, if it can be read."""
        ...

    def received(self, line: bytes) -> list[Observation]:
        """One complete line of the output spool, in order."""
        ...

    def oversized(self, skipped: Oversized) -> list[Observation]:
        """A line that was too long to keep."""
        ...

    def is_due(self, message_id: str, line: bytes) -> bool:
        """Whether our message can have been sent by now."""
        ...

    def needed(self, line: bytes, waiting: Sequence[tuple[str, bytes]]) -> int:
        """How many of the waiting messages must have been sent before this line, because it answers the last one."""
        ...


class SpeaksInLines:
    """The defaults of dialects whose agents speak in lines: they say themselves what a screen only lets us guess."""

    def approach(self, prompt_id: str, text: str) -> list[Keys]:
        """A prompt is one message."""
        return []

    def showed(self, data: bytes) -> None:
        """Only lines count."""

    def silence(self, seconds: float, turn: Awaited | None, record: Record | None) -> Silence:
        """It says when it is ready, and when a turn is over."""
        return "nothing"
