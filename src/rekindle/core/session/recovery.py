"""What follows a turn that failed: a prompt of our own that says so and goes on, now or later, or nothing.

Every automatic retry spends patience, and only a turn that ends well refills it. Pure.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.session.continuation import quoted
from rekindle.core.session.facts import TurnFailed
from rekindle.core.session.history import request_of

PATIENCE: Final = 12
#: Seconds before each retry where nobody told how long to wait.
_PAUSES: Final = (5.0, 10.0, 20.0, 45.0, 90.0, 180.0, 300.0, 600.0)
#: A limit is not tried in the very moment in which it ends.
_MARGIN: Final = 0.5

_WORDS: Final = {
    "rate_limited": "the model's service has a rate limit, which was reached",
    "overloaded": "the model's service was overloaded",
    "no_internet": "the model's service could not be reached",
}


def retry_at(failed: TurnFailed, patience: int) -> float | None:
    """When the turn may be tried again without anybody's help; None: never."""
    if patience <= 0 or not (failed.transient or failed.error in _WORDS):
        return None
    if failed.retry_at is not None and failed.retry_at > failed.at:
        return failed.retry_at + _MARGIN
    spent = PATIENCE - patience
    return failed.at + _PAUSES[min(spent, len(_PAUSES) - 1)]


def retry_prompt(failed: TurnFailed, text: str) -> str:
    """What the agent is told when its turn can go on."""
    why = _WORDS.get(failed.error, "the model's service had a fault")
    return "\n".join(
        (
            f"Your last turn ended early: {why}. It can go on now.",
            f"What you were asked: {quoted(request_of(text), 4000)}",
            "Go on from where you stopped; check the state of the files before you repeat anything.",
        )
    )


def compacted_prompt(text: str) -> str:
    """What the agent is told after its conversation had become too long and was shortened."""
    return "\n".join(
        (
            "Your conversation had become too long for the model and was shortened; you remember a summary of it.",
            f"What you were asked: {quoted(request_of(text), 4000)}",
            "Go on from where you stopped; check the state of the files before you repeat anything.",
        )
    )
