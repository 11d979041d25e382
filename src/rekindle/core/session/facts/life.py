"""Facts about the session as a whole: it is requested, resumed, stopped, taken over, moved. Pure data."""

from __future__ import annotations

from typing import Literal

from rekindle.core.fact import Fact
from rekindle.core.session.rules import Rules
from rekindle.core.session.values import Handover, Limits


class Created(Fact, frozen=True, kw_only=True, tag="created"):
    """A person (or a feature run) wants a conversation with an agent.

    `native`: the agent's own way to resume a conversation is trusted; else a new one is told the history.
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
    #: the main checkout, and the work tree that contains `cwd`; `branch` only if the work tree was made for the session
    repository: str | None = None
    worktree: str | None = None
    branch: str | None = None
    #: which repository it is, whatever the checkout is called (see `rekindle.core.identity`)
    repository_id: str | None = None
    #: the starter of the session reports its work tree to the journal
    worktree_told: bool = False
    native: bool = True
    #: the agent is used as an interactive program
    terminal: bool = False
    #: the rules of a runbook, and where they come from; None: the defaults
    rules: Rules | None = None
    #: the run of a feature has begun it, and decides about it
    of_run: bool = False
    #: another program than the agent's usual one; empty: the usual one
    program: str = ""
    rules_source: str = ""
    rules_digest: str = ""
    #: the job whose step it works on; empty: none
    job: str = ""


class ResumeAsked(Fact, frozen=True, kw_only=True, tag="resume_asked"):
    """Bring the agent back, whatever state the session is in. `by` says who asked. `limits` replace the old ones.

    `native` None leaves it as it was; see `Created`.
    """

    by: str
    limits: Limits | None = None
    native: bool | None = None
    handover: Handover | None = None


class StopAsked(Fact, frozen=True, kw_only=True, tag="stop_asked"):
    """End the agent. `to` is the session's state after that; asleep means that it waits for input without a process.

    `why` is for a person; empty: nothing to say.
    """

    by: str
    to: Literal["asleep", "cancelled", "completed", "failed"]
    why: str = ""


class HoldAsked(Fact, frozen=True, kw_only=True, tag="hold_asked"):
    """Nothing is done automatically about the session until somebody lifts the hold. What a person sends is sent."""

    by: str


class HoldLifted(Fact, frozen=True, kw_only=True, tag="hold_lifted"):
    """The session continues automatically again, at its own time."""

    by: str


class Hurried(Fact, frozen=True, kw_only=True, tag="hurried"):
    """The session does not wait for the time at which it would go on: it goes on now."""

    by: str


class Adopted(Fact, frozen=True, kw_only=True, tag="adopted"):
    """A new daemon has taken over: whatever an older one still writes is refused."""

    generation: int


class ClockSet(Fact, frozen=True, kw_only=True, tag="clock_set"):
    """Somebody has set the machine's clock, by so many seconds: what the session waits for stays as far away as it was.

    After a restart nobody knows how far a clock was set back, only that it was: `by` is the least that it can be.
    `number` counts these facts of a session, so that none counts twice.
    """

    by: float
    number: int


class Relocated(Fact, frozen=True, kw_only=True, tag="relocated"):
    """The session's repository was moved, and its folders with it."""

    repository: str
    cwd: str
    worktree: str | None = None


class Imported(Fact, frozen=True, kw_only=True, tag="imported"):
    """The session came in an archive. `asked` says what the archive asked for, and what of it was reset."""

    asked: list[str]


class TakenOver(Fact, frozen=True, kw_only=True, tag="taken_over"):
    """Another host of the fleet has the session now: what the one before it still writes is refused.

    `lost` is the attempt that was left behind (0: none), `missing` says what of it may be lost. The folders are those
    on the new host.
    """

    generation: int
    host: str
    before: str
    lost: int
    cwd: str
    repository: str | None = None
    worktree: str | None = None
    branch: str | None = None
    missing: list[str] = []


class Noticed(Fact, frozen=True, kw_only=True, tag="noticed"):
    """Something that a person should know and that changes nothing."""

    message: str


#: Every fact of this module.
SessionFact = (
    Created
    | ResumeAsked
    | StopAsked
    | HoldAsked
    | HoldLifted
    | Hurried
    | Adopted
    | ClockSet
    | Relocated
    | Imported
    | TakenOver
    | Noticed
)
