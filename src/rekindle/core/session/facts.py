"""What can happen to a session, as data. A fact is appended to the store before anything acts on it.

Facts are tagged and kept for ever, so fields may be added (with a default) and never changed or removed. What rekindle
decides about a session is a fact too: those are in `decided`.
"""

from __future__ import annotations

from typing import Literal

from rekindle.core.session.decided import (
    BudgetSpent as BudgetSpent,
)
from rekindle.core.session.decided import (
    ConversationLeft as ConversationLeft,
)
from rekindle.core.session.decided import (
    Due as Due,
)
from rekindle.core.session.decided import (
    HeldBack as HeldBack,
)
from rekindle.core.session.decided import (
    LimitReached as LimitReached,
)
from rekindle.core.session.decided import (
    Postponed as Postponed,
)
from rekindle.core.session.decided import (
    Progressed as Progressed,
)
from rekindle.core.session.decided import (
    RulesSet as RulesSet,
)
from rekindle.core.session.decided import (
    Stalled as Stalled,
)
from rekindle.core.session.decided import (
    TimerSet as TimerSet,
)
from rekindle.core.session.decided import (
    TurnSettled as TurnSettled,
)
from rekindle.core.session.fact import Fact as Fact
from rekindle.core.session.values import (
    Cut as Cut,
)
from rekindle.core.session.values import (
    Handover as Handover,
)
from rekindle.core.session.values import (
    Limits as Limits,
)
from rekindle.core.session.values import (
    Receipt as Receipt,
)
from rekindle.core.session.values import (
    Usage as Usage,
)

How = Literal["new", "load"]
#: Where the prompt goes in what a new conversation is told of the old one.
PROMPT = "\0prompt\0"
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


#: Why an agent that runs would not open the conversation; incomplete: it did, and has lost a part of it.
Refusal = Literal["unknown_session", "incomplete", "unsupported", "unauthorized", "timeout", "other"]


class Created(Fact, frozen=True, kw_only=True, tag="created"):
    """A person (or a feature run) wants a conversation with an agent.

    `native`: the agent's own way to take up a conversation is trusted; else a new one is told the history.
    """

    session: str
    agent: str
    cwd: str
    title: str = ""
    policy: str = "ask"
    permission: str = "edits"
    feature: str | None = None
    task: str | None = None
    arguments: list[str] = []
    model: str | None = None
    limits: Limits = Limits()
    one_shot: bool = False
    fork_of: str | None = None
    fork_at: str | None = None
    #: the main checkout, and the work tree that `cwd` is in; `branch` only if the work tree was made for the session
    repository: str | None = None
    worktree: str | None = None
    branch: str | None = None
    #: which repository it is, whatever the checkout is called (see `rekindle.core.identity`)
    repository_id: str | None = None
    #: whoever begins the session tells the journal of its work tree
    worktree_told: bool = False
    native: bool = True
    #: the agent is used as an interactive program
    terminal: bool = False


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


class ResumeAsked(Fact, frozen=True, kw_only=True, tag="resume_asked"):
    """Bring the agent back, whatever state the session is in. `by` says who asked. `limits` replace the old ones.

    `native` None leaves it as it was; see `Created`.
    """

    by: str
    limits: Limits | None = None
    native: bool | None = None
    handover: Handover | None = None


class LoadPutOff(Fact, frozen=True, kw_only=True, tag="load_put_off"):
    """The agent would do harm if it loaded its conversation now: it is started at `until`, and no earlier."""

    until: float
    why: str


class LaunchIntended(Fact, frozen=True, kw_only=True, tag="launch_intended"):
    """A new attempt is about to be started. After a crash it is looked for before anything else.

    What was found out before it: `known` marks the prompts in the agent's own record (None: it could not be read),
    `changed` the files that differ from the end of the last turn, `history` what a new conversation is told of the old
    one, `notes` what was done to the record, `why` the reason for a new conversation. `agent` is empty in old facts.
    `compactions`: so often the agent had shortened the conversation by then. `said`: what the agent had said each time
    before the turn that goes on was cut off, oldest first.
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


class Launched(Fact, frozen=True, kw_only=True, tag="launched"):
    """The attempt's agent process runs in its keeper."""

    attempt: int
    folder: str
    pid: int


class LaunchFailed(Fact, frozen=True, kw_only=True, tag="launch_failed"):
    """The attempt's agent process does not run and never did.

    `blocked`: something is missing (the program, room on the disk), and trying again is of no use before it is there.
    """

    attempt: int
    message: str
    blocked: bool = False


class Adopted(Fact, frozen=True, kw_only=True, tag="adopted"):
    """A new daemon has taken over: whatever an older one still writes is refused."""

    generation: int


class Opened(Fact, frozen=True, kw_only=True, tag="opened"):
    """Ready: the conversation is open. `known` marks the user texts that the agent's own record showed.

    `proof`: whether that shows that the conversation is the same, or only the next turn will. `compact` is the prompt
    that makes the agent shorten its conversation, where there is one. `lacks`: what the agent has lost of it, in words.
    """

    attempt: int
    how: How
    token: str
    known: list[str] | None = None
    can_load: bool = True
    proof: Literal["replay", "transcript"] = "replay"
    compact: str | None = None
    lacks: str = ""


class Named(Fact, frozen=True, kw_only=True, tag="named"):
    """The agent has said which conversation it is in."""

    attempt: int
    token: str


class Compared(Fact, frozen=True, kw_only=True, tag="compared"):
    """The agent's own record after a resume, against what it was before. `extends` None: nothing can be said.

    `known` marks the prompts of the conversation that the agent goes on with; `lacks` says what that one is without.
    """

    attempt: int
    extends: bool | None
    known: list[str]
    why: str = ""
    lacks: str = ""


class OpenRefused(Fact, frozen=True, kw_only=True, tag="open_refused"):
    """The agent runs, but would not open the conversation."""

    attempt: int
    how: How
    problem: Refusal
    message: str


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


class GivenUp(Fact, frozen=True, kw_only=True, tag="given_up"):
    """The agent is ended because its turn does not go on or takes too long. It counts as cut off, not as stopped."""

    attempt: int
    why: str


class Compacted(Fact, frozen=True, kw_only=True, tag="compacted"):
    """The agent has shortened its own conversation: what was said before is there in its own summary only.

    `number` counts them within the attempt, so that one that is told twice is known; 0: nobody has counted.
    """

    attempt: int
    why: str
    number: int = 0


class CancelAsked(Fact, frozen=True, kw_only=True, tag="cancel_asked"):
    """End the turn, not the session."""

    prompt: str


class PermissionAsked(Fact, frozen=True, kw_only=True, tag="permission_asked"):
    """The agent wants to do something that it may not do unasked. `prompt`: in whose turn; empty in none.

    `detail` is what a person has to see beside the title: the whole command, say.
    """

    attempt: int
    request: str
    title: str
    kind: str
    options: list[tuple[str, str, str]]
    prompt: str = ""
    detail: str = ""


class PermissionAnswered(Fact, frozen=True, kw_only=True, tag="permission_answered"):
    """Somebody, or the policy, has decided. `option` None: refused without an option."""

    request: str
    option: str | None
    by: str


class StopAsked(Fact, frozen=True, kw_only=True, tag="stop_asked"):
    """End the agent. `to` is what the session is then; asleep means that it waits for input without a process."""

    by: str
    to: Literal["asleep", "cancelled", "completed", "failed"]


class Exited(Fact, frozen=True, kw_only=True, tag="exited"):
    """The attempt's whole tree is gone, and its lock is free."""

    attempt: int
    how_ended: str
    by_us: bool
    cut: Cut | None = None
    truncated: int = 0


class ReceiptWritten(Fact, frozen=True, kw_only=True, tag="receipt_written"):
    """The receipt of a resume."""

    attempt: int
    receipt: Receipt


class Noticed(Fact, frozen=True, kw_only=True, tag="noticed"):
    """Something that a person should know, and that changes nothing."""

    message: str


class Imported(Fact, frozen=True, kw_only=True, tag="imported"):
    """The session came in an archive. `asked` says what that asked for, and what of it was reset."""

    asked: list[str]


class Relocated(Fact, frozen=True, kw_only=True, tag="relocated"):
    """The session's repository was moved, and its folders with it."""

    repository: str
    cwd: str
    worktree: str | None = None


AnyFact = (
    Created
    | RulesSet
    | BudgetSpent
    | Progressed
    | Postponed
    | TurnSettled
    | ConversationLeft
    | HeldBack
    | LimitReached
    | TimerSet
    | Due
    | Stalled
    | Relocated
    | Imported
    | PromptQueued
    | ResumeAsked
    | LoadPutOff
    | LaunchIntended
    | Launched
    | LaunchFailed
    | Adopted
    | Opened
    | Named
    | Compared
    | OpenRefused
    | PromptSent
    | TurnBegan
    | Spent
    | TurnFinished
    | TurnFailed
    | GivenUp
    | Compacted
    | CancelAsked
    | PermissionAsked
    | PermissionAnswered
    | StopAsked
    | Exited
    | ReceiptWritten
    | Noticed
)
