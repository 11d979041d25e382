"""What a report consists of. Pure data, and sums over it.

*Proved* means that rekindle saw it itself: a fact that it recorded, a command that it ran, a commit that git has. What
only an agent said is *claimed*. What nobody knows is *unknown*, and is said to be.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from rekindle.core.report.evidence import Cited, Owner

#: `stopped`: somebody wanted it to end, which is no failure.
LineKind = Literal["asked", "done", "failed", "stopped", "cut", "resumed", "waited", "spent", "open", "next"]
KINDS: tuple[LineKind, ...] = get_args(LineKind)
Standing = Literal["proved", "claimed", "unknown"]
#: What a session was doing. `cut`: its agent had died at work. `queued`: a prompt waited for an agent.
Phase = Literal["starting", "working", "asking", "limit", "checking", "cut", "held", "queued", "idle", "over"]
#: What a claim is about.
Subject = Literal["tests", "build", "lint"]
Verdict = Literal["proved", "contradicted", "unproved"]


class ReportLine(msgspec.Struct, frozen=True):
    """One thing that happened, or that is still open. Every line has evidence.

    `about` is the session, job or feature (`of` says which), `title` what that is about. `seconds` is how long it
    lasted, `cost` what it cost (None: unknown), `next` what to type. `receipt` is what a resume proved.
    """

    kind: LineKind
    standing: Standing
    at: float
    of: Owner
    about: str
    title: str
    text: str
    evidence: tuple[Cited, ...]
    seconds: float | None = None
    cost: float | None = None
    tokens: int = 0
    next: str = ""
    receipt: str = ""
    needs_you: bool = False
    session: str = ""


class Check(msgspec.Struct, frozen=True):
    """A command that rekindle ran to check some work. `commit` is what it ran on; empty: not known.

    `is_exact`: it ran on that commit and nothing else; otherwise there may have been uncommitted work. `turns`: how
    many prompts the session had been sent by then.
    """

    at: float
    command: str
    passed: bool
    of: Owner
    about: str
    seq: int
    commit: str = ""
    is_exact: bool = False
    task: str = ""
    turns: int = 0


class JudgedClaim(msgspec.Struct, frozen=True):
    """What an agent said about its work, and what that is worth. `why` gives the reason for the verdict."""

    session: str
    title: str
    agent: str
    subject: Subject
    quote: str
    at: float
    verdict: Verdict
    why: str
    evidence: tuple[Cited, ...]


class LastWords(msgspec.Struct, frozen=True):
    """What an agent said at the end of its last turn: its own account, which nobody has checked."""

    session: str
    title: str
    agent: str
    text: str
    at: float
    evidence: tuple[Cited, ...]


class Span(msgspec.Struct, frozen=True):
    """What a session was doing from one time to another. `seq` is the place of the fact that it began with."""

    phase: Phase
    since: float
    until: float
    seq: int = 0


class Story(msgspec.Struct, frozen=True):
    """A session over time. `cuts` and `returns` are when its agent died at work, and when it was back."""

    session: str
    title: str
    agent: str
    job: str
    feature: str
    task: str
    status: str
    spans: tuple[Span, ...]
    cuts: tuple[float, ...]
    returns: tuple[float, ...]


class Paid(msgspec.Struct, frozen=True):
    """What was added to a session's bill at one time."""

    at: float
    session: str
    cost: float
    tokens: int


class ContextPoint(msgspec.Struct, frozen=True):
    """How many tokens of its window a session used at the end of a turn. `window` None: unknown."""

    at: float
    session: str
    used: int
    window: int | None


class Totals(msgspec.Struct, frozen=True):
    """The sums of the lines. `cost` is what is known; `unpriced` counts the turns whose cost nobody reported."""

    sessions: int
    jobs: int
    features: int
    counts: dict[str, int]
    receipts: dict[str, int]
    claims: dict[str, int]
    needs_you: int
    waited_seconds: float
    cost: float
    tokens: int
    unpriced: int
    unpriced_agents: tuple[str, ...]


class MorningReport(msgspec.Struct, frozen=True):
    """A report. It is about what happened from `since` on and before `until`. `problems`: what could not be read."""

    since: float
    until: float
    made_at: float
    totals: Totals
    lines: tuple[ReportLine, ...]
    checks: tuple[Check, ...]
    claims: tuple[JudgedClaim, ...]
    last_words: tuple[LastWords, ...]
    stories: tuple[Story, ...]
    spending: tuple[Paid, ...]
    contexts: tuple[ContextPoint, ...]
    problems: tuple[str, ...] = ()
    #: which host of a fleet has each session; empty on one machine
    hosts: dict[str, str] = {}

    def of_kind(self, *kinds: LineKind) -> tuple[ReportLine, ...]:
        """The lines of these kinds, in order of time."""
        return tuple(one for one in self.lines if one.kind in kinds)

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened and nothing is open."""
        return not self.lines


def counted(lines: Iterable[ReportLine]) -> dict[str, int]:
    """How many lines there are of each kind; those with none are left out."""
    found: dict[str, int] = {}
    for one in lines:
        found[one.kind] = found.get(one.kind, 0) + 1
    return {kind: found[kind] for kind in KINDS if kind in found}
