"""Facts about prompts and the turns that they begin. Pure data."""

from __future__ import annotations

from typing import Literal

from rekindle.core.fact import Fact
from rekindle.core.session.values import Usage

#: Why a turn failed, as far as it makes a difference to what follows.
ErrorClass = Literal[
    "rate_limited",
    "overloaded",
    "out_of_credits",
    "unauthorized",
    "no_internet",
    "context_overflow",
    "session_lost",
    "other",
]


class PromptQueued(Fact, frozen=True, kw_only=True, tag="prompt_queued"):
    """Something to be said to the agent. Delivered once, in order. `of` and `after`: see `state.Prompt`.

    `first`: it comes before what else is queued.
    """

    prompt: str
    text: str
    by: str = "user"
    of: str = ""
    after: float | None = None
    first: bool = False


class PromptSent(Fact, frozen=True, kw_only=True, tag="prompt_sent"):
    """The keeper has the message on disk and delivers it once. `message` is number in the attempt's input spool."""

    attempt: int
    prompt: str
    message: int
    text: str


class TurnBegan(Fact, frozen=True, kw_only=True, tag="turn_began"):
    """The agent has done something about the prompt: said a word, started a tool."""

    attempt: int
    prompt: str


class Spent(Fact, frozen=True, kw_only=True, tag="spent"):
    """So much has the turn taken so far: all of it, not what has been added."""

    attempt: int
    prompt: str
    usage: Usage


class Stalled(Fact, frozen=True, kw_only=True, tag="stalled"):
    """The agent has said nothing for so many seconds, although a turn is running and no tool is."""

    attempt: int
    seconds: float


class TurnFinished(Fact, frozen=True, kw_only=True, tag="turn_finished"):
    """The turn is over."""

    attempt: int
    prompt: str
    stop_reason: str
    usage: Usage | None = None


class TurnFailed(Fact, frozen=True, kw_only=True, tag="turn_failed"):
    """The turn ended with an error of the agent or its model."""

    attempt: int
    prompt: str
    error: ErrorClass
    message: str
    retry_at: float | None = None
    transient: bool = False
    usage: Usage | None = None


class CancelAsked(Fact, frozen=True, kw_only=True, tag="cancel_asked"):
    """End the turn, not the session."""

    prompt: str


#: Every fact of this module.
TurnFact = PromptQueued | PromptSent | TurnBegan | Spent | Stalled | TurnFinished | TurnFailed | CancelAsked
