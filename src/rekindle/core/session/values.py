"""Values that facts carry: what a turn took, what a session may take, what was cut, what was proved. Pure data."""

from __future__ import annotations

from typing import Literal

import msgspec


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money, as the agent reports them. `cost` is in dollars; None: it was not told."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens, however they were paid for."""
        return self.input_tokens + self.output_tokens + self.cached_tokens

    def plus(self, other: Usage | None) -> Usage:
        """The sum. What was told of the cost counts, even where some of it was not."""
        if other is None:
            return self
        costs = [one.cost for one in (self, other) if one.cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            round(sum(costs), 9) if costs else None,
        )


class Limits(msgspec.Struct, frozen=True):
    """What a session may take before it is stopped (it stays resumable). None: no limit.

    `cost` in dollars and `tokens` are for the whole session, `turn_seconds` for one turn. `stall_seconds`: so long may
    a turn be silent while no tool runs. `age_seconds` and `resumes`: a conversation that is older, or was resumed more
    often, is not resumed any more but begun anew.
    """

    cost: float | None = None
    tokens: int | None = None
    turn_seconds: float | None = None
    stall_seconds: float | None = 240.0
    age_seconds: float | None = None
    resumes: int | None = None


class Handover(msgspec.Struct, frozen=True):
    """Another agent goes on with the session: what was the old one's own does not count for it."""

    agent: str
    model: str | None = None
    arguments: list[str] = []


class Cut(msgspec.Struct, frozen=True):
    """What was going on in the agent when it ended: in the middle of a turn or, in the `background`, at any time.

    `done` are tools that had come to their end, although the agent's own record does not have the end. `asked_for` are
    those that waited for a permission, and so had not begun.
    """

    said: str = ""
    tools: list[str] = []
    swept: list[str] = []
    delivered: Literal["yes", "no", "unknown"] = "yes"
    background: list[str] = []
    done: list[str] = []
    asked_for: list[str] = []

    @property
    def had_begun(self) -> bool:
        """Whether the agent had said or started anything in the turn."""
        return bool(self.said or self.tools or self.done or self.asked_for)


class Receipt(msgspec.Struct, frozen=True):
    """What a resume proved: never better than the evidence."""

    kind: Literal["same", "rebuilt", "fresh", "unproven"]
    reason: str
    unknown: list[str] = []
    repeated: list[str] = []
