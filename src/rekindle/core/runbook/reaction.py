"""A reaction: what to do about a trigger, how often, and after what pause. Pure data, recorded with each session."""

from __future__ import annotations

import msgspec

from rekindle.core.runbook.triggers import Action


class Reaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule of a runbook.

    `match` is an error type, or a pattern for a question; empty matches everything. `attempts` None means forever.
    `cooldown` has the pauses before the first, second, … time, in seconds; the last one applies to all later times.
    `message` with `append` is sent in the same conversation; without it, it replaces the prompt of a new one.
    `run` is the command of a gate.
    """

    action: Action
    match: str = ""
    message: str = ""
    append: bool = False
    run: tuple[str, ...] = ()
    attempts: int | None = 1
    cooldown: tuple[float, ...] = (0.0,)

    def pause(self, spent: int) -> float:
        """How long to wait before the next time, if it was done `spent` times already."""
        return self.cooldown[min(spent, len(self.cooldown) - 1)] if self.cooldown else 0.0

    def is_left(self, spent: int) -> bool:
        """Whether it may be done once more."""
        return self.attempts is None or spent < self.attempts

    @property
    def keeps_history(self) -> bool:
        """Whether a resume stays in the same conversation. A message that replaces the prompt abandons it."""
        return not self.message or self.append
