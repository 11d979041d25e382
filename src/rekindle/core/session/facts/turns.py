"""Facts about prompts and the turns that they begin. Pure data."""

from __future__ import annotations

from rekindle.core.fact import Fact
from rekindle.core.runbook.triggers import ErrorClass as ErrorClass
from rekindle.core.session.values import Usage


class PromptQueued(Fact, frozen=True, kw_only=True, tag="prompt_queued"):
    """Something to tell the agent. Delivered once, in order. `of` and `after`: see `state.Prompt`.

    `first`: it comes before everything else in the queue. `limit`: it waits for the end of this limit of its service.
    """

    prompt: str
    text: str
    by: str = "user"
    of: str = ""
    after: float | None = None
    first: bool = False
    limit: str = ""


class PromptSent(Fact, frozen=True, kw_only=True, tag="prompt_sent"):
    """The keeper has the message on disk and delivers it once. `message` is its number in the attempt's input spool."""

    attempt: int
    prompt: str
    message: int
    text: str


class TurnBegan(Fact, frozen=True, kw_only=True, tag="turn_began"):
    """The agent has acted on the prompt: said something, or started a tool."""

    attempt: int
    prompt: str


class Spent(Fact, frozen=True, kw_only=True, tag="spent"):
    """What the turn has used so far: the total, not what was added."""

    attempt: int
    prompt: str
    usage: Usage


class Stalled(Fact, frozen=True, kw_only=True, tag="stalled"):
    """The agent has said nothing for this many seconds, although a turn is running and no tool is."""

    attempt: int
    seconds: float


class TurnFinished(Fact, frozen=True, kw_only=True, tag="turn_finished"):
    """The turn is over. `context` is how many tokens of the window are then used, `window` how many it has."""

    attempt: int
    prompt: str
    stop_reason: str
    usage: Usage | None = None
    context: int | None = None
    window: int | None = None


class TurnFailed(Fact, frozen=True, kw_only=True, tag="turn_failed"):
    """The turn ended with an error of the agent or its model. `limit`: which limit was reached, if it is known."""

    attempt: int
    prompt: str
    error: ErrorClass
    message: str
    retry_at: float | None = None
    transient: bool = False
    usage: Usage | None = None
    limit: str = ""


class CancelAsked(Fact, frozen=True, kw_only=True, tag="cancel_asked"):
    """End the turn, not the session."""

    prompt: str


class PromptEdited(Fact, frozen=True, kw_only=True, tag="prompt_edited"):
    """A person has changed the text of a prompt that was not sent yet."""

    prompt: str
    text: str
    by: str


class PromptsReordered(Fact, frozen=True, kw_only=True, tag="prompts_reordered"):
    """A person wants these prompts, none of them sent yet, in this order. Others keep their places."""

    prompts: list[str]
    by: str


class FilesChanged(Fact, frozen=True, kw_only=True, tag="files_changed"):
    """The work tree was different after a turn than before it: that is progress."""

    snapshot: str


#: Every fact of this module.
TurnFact = (
    PromptQueued
    | PromptSent
    | TurnBegan
    | Spent
    | Stalled
    | TurnFinished
    | TurnFailed
    | CancelAsked
    | PromptEdited
    | PromptsReordered
    | FilesChanged
)
