"""The errors that a turn can end with: one stable JSON-RPC code and one sentence for each class.

The codes are part of the agent's interface; tests of rekindle's classifier rely on them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

SESSION_NOT_FOUND = -32002

CODES = {
    "unauthorized": -32000,  # the protocol's own code for "authentication required"
    "rate_limited": -32010,
    "overloaded": -32011,
    "out_of_credits": -32012,
    "no_internet": -32013,
    "context_overflow": -32014,
    "other": -32603,
}
_MESSAGES = {
    "unauthorized": "Authentication required: the key was refused",
    "rate_limited": "Rate limit reached",
    "overloaded": "The model is overloaded",
    "out_of_credits": "Your credit balance is too low",
    "no_internet": "Unable to connect to the API",
    "context_overflow": "The prompt is too long for the context window",
    "other": "Something went wrong",
}


def describe(failure: str, seconds: float | None, now: datetime) -> tuple[int, str, dict[str, Any]]:
    """Code, message and data of the error for a class of failure; it passes in `seconds`, if known."""
    data: dict[str, Any] = {"class": failure}
    if seconds is not None:
        data["retry_after_seconds"] = seconds
        data["resets_at"] = (now + timedelta(seconds=seconds)).astimezone(UTC).isoformat().replace("+00:00", "Z")
    return CODES[failure], _MESSAGES[failure], data
