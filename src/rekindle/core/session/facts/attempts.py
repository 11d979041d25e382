"""Facts about the attempts: how an agent was started, which conversation it opened, how it ended. Pure data."""

from __future__ import annotations

from typing import Literal

from rekindle.core.fact import Fact
from rekindle.core.session.values import Cut, Receipt

How = Literal["new", "load"]
#: Where the prompt goes in the history that a new conversation is told.
PROMPT = "\0prompt\0"
#: Why a running agent would not open the conversation; incomplete: it did, and has lost a part of it.
Refusal = Literal["unknown_session", "incomplete", "unsupported", "unauthorized", "timeout", "other"]


class LoadPutOff(Fact, frozen=True, kw_only=True, tag="load_put_off"):
    """The agent would do harm if it loaded its conversation now: it is started at `until`, and no earlier."""

    until: float
    why: str


class LaunchIntended(Fact, frozen=True, kw_only=True, tag="launch_intended"):
    """A new attempt is about to be started. After a crash, look for it before anything else.

    What was found out before it: `known` marks the prompts in the agent's own record (None: it could not be read),
    `changed` the files that differ from the end of the last turn, `history` what a new conversation is told of the old
    one, `notes` what was done to the record, `why` the reason for a new conversation. `agent` is empty in old facts.
    `compactions`: how often the agent had shortened the conversation by then. `said`: what the agent had said each time
    before the continued turn was cut off, oldest first. `given` says in words what the history is if it is a summary,
    and `behind` what was left behind.
    """

    attempt: int
    generation: int
    how: How
    token: str | None = None
    known: list[str] | None = None
    changed: list[str] = []
    history: str = ""
    notes: list[str] = []
    why: str = ""
    agent: str = ""
    compactions: int = 0
    said: list[str] = []
    given: str = ""
    behind: str = ""


class Launched(Fact, frozen=True, kw_only=True, tag="launched"):
    """The attempt's agent process runs in its keeper. `account` tells accounts apart; empty: the user's usual one."""

    attempt: int
    folder: str
    pid: int
    account: str = ""


class LaunchFailed(Fact, frozen=True, kw_only=True, tag="launch_failed"):
    """The attempt's agent process is not running and never did.

    `blocked`: something is missing (the program, room on the disk), and trying again is useless until it is there.
    """

    attempt: int
    message: str
    blocked: bool = False


class Opened(Fact, frozen=True, kw_only=True, tag="opened"):
    """Ready: the conversation is open. `known` marks the user texts that the agent's own record showed.

    `proof`: whether that shows that the conversation is the same, or only the next turn will. `compact` is the prompt
    that makes the agent shorten its conversation, if there is one. `lacks`: what the agent has lost of it, in words.
    """

    attempt: int
    how: How
    token: str
    known: list[str] | None = None
    can_load: bool = True
    proof: Literal["replay", "transcript"] = "replay"
    compact: str | None = None
    lacks: str = ""


class OpenRefused(Fact, frozen=True, kw_only=True, tag="open_refused"):
    """The agent is running, but would not open the conversation."""

    attempt: int
    how: How
    problem: Refusal
    message: str


class Named(Fact, frozen=True, kw_only=True, tag="named"):
    """The agent has said which conversation it is in."""

    attempt: int
    token: str


class Compared(Fact, frozen=True, kw_only=True, tag="compared"):
    """The agent's own record after a resume, compared with what it was before. `extends` None: unknown.

    `known` marks the prompts of the conversation that the agent continues; `lacks` says what that one is missing.
    """

    attempt: int
    extends: bool | None
    known: list[str]
    why: str = ""
    lacks: str = ""


class Compacted(Fact, frozen=True, kw_only=True, tag="compacted"):
    """The agent has shortened its own conversation: what was said before survives only in its own summary.

    `number` counts them within the attempt, so that a repeated report is recognised; 0: nobody has counted.
    """

    attempt: int
    why: str
    number: int = 0


class ContextMeasured(Fact, frozen=True, kw_only=True, tag="context_measured"):
    """How many tokens of its context window the conversation takes, as the agent tells.

    `number` counts these facts within the attempt, so that a repeated report is recognised. `skill` is the folder of
    the skill session that the agent works in, empty if it works in none; None: nobody has looked.
    """

    attempt: int
    used: int
    size: int
    number: int
    skill: str | None = None


class GivenUp(Fact, frozen=True, kw_only=True, tag="given_up"):
    """The agent is ended because its turn is stuck or takes too long. It counts as cut off, not as stopped.

    `purpose`: the conversation is begun anew (`renew`), the turn was silent (`stall`) or took too long (`turn`).
    """

    attempt: int
    why: str
    purpose: Literal["", "renew", "stall", "turn"] = ""


class Exited(Fact, frozen=True, kw_only=True, tag="exited"):
    """The attempt's whole tree is gone, and its lock is free.

    `unseen`: its keeper ended with it, as in a power failure.
    """

    attempt: int
    how_ended: str
    by_us: bool
    cut: Cut | None = None
    truncated: int = 0
    unseen: bool = False


class ReceiptWritten(Fact, frozen=True, kw_only=True, tag="receipt_written"):
    """The receipt of a resume."""

    attempt: int
    receipt: Receipt


#: Every fact of this module.
AttemptFact = (
    LoadPutOff
    | LaunchIntended
    | Launched
    | LaunchFailed
    | Opened
    | OpenRefused
    | Named
    | Compared
    | Compacted
    | ContextMeasured
    | GivenUp
    | Exited
    | ReceiptWritten
)
