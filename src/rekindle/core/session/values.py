"""Values that facts carry: what a turn used, what a session may use, what was cut off, what was proved. Pure data."""

from __future__ import annotations

from typing import Literal

import msgspec

from rekindle.core.runbook.limits import Limits as Limits


class Usage(msgspec.Struct, frozen=True):
    """Tokens and money, as the agent reports them. `cost` is in dollars; None: not reported."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """All tokens, however they were paid for."""
        return self.input_tokens + self.output_tokens + self.cached_tokens

    def plus(self, other: Usage | None) -> Usage:
        """The sum. Reported costs count, even if some were not reported."""
        if other is None:
            return self
        costs = [one.cost for one in (self, other) if one.cost is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            round(sum(costs), 9) if costs else None,
        )


class HostChange(msgspec.Struct, frozen=True):
    """The session is on another host since the attempt `lost`, which was left behind: see `facts.TakenOver`."""

    host: str
    before: str
    lost: int
    missing: list[str] = []


class Handover(msgspec.Struct, frozen=True):
    """Another agent continues the session: what belonged to the old one does not count for it."""

    agent: str
    model: str | None = None
    arguments: list[str] = []


class Cut(msgspec.Struct, frozen=True):
    """What was going on in the agent when it ended: in the middle of a turn or, in the `background`, at any time.

    `done` are tools that had ended, although the agent's own record does not have the end. `asked_for` are those that
    waited for a permission, and so had not begun. `worked`: a tool had ended in the turn, whoever knows about it.
    """

    said: str = ""
    tools: list[str] = []
    swept: list[str] = []
    delivered: Literal["yes", "no", "unknown"] = "yes"
    background: list[str] = []
    done: list[str] = []
    asked_for: list[str] = []
    worked: bool = False

    @property
    def had_begun(self) -> bool:
        """Whether the agent had said or started anything in the turn."""
        return bool(self.said or self.tools or self.done or self.asked_for or self.worked)


class Receipt(msgspec.Struct, frozen=True):
    """What a resume proved: never better than the evidence."""

    kind: Literal["same", "rebuilt", "fresh", "unproven"]
    reason: str
    unknown: list[str] = []
    repeated: list[str] = []


class ContextGauge(msgspec.Struct, frozen=True):
    """How full the context window of a conversation was when its agent last told. See `facts.ContextMeasured`."""

    used: int
    size: int
    token: str | None
    attempt: int
    number: int

    @property
    def share(self) -> float:
        """From 0 to 1, or a little more."""
        return self.used / self.size if self.size > 0 else 0.0
