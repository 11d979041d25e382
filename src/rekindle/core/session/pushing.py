"""Which events of the task session a fact is told as. The same fact is always told the same way. Pure."""

from __future__ import annotations

from typing import Final, Literal

EventName = Literal[
    "task.session.state_changed",
    "task.state_changed",
    "task.session.message",
    "task.session.receipt",
    "task.session.question",
]
STATE: Final[EventName] = "task.session.state_changed"
TASK: Final[EventName] = "task.state_changed"
MESSAGE: Final[EventName] = "task.session.message"
RECEIPT: Final[EventName] = "task.session.receipt"
QUESTION: Final[EventName] = "task.session.question"

#: Facts that a session can change its state by, and with it the state of its task.
_TURNING: Final = frozenset(
    {
        *("created", "launch_intended", "opened", "open_refused", "prompt_sent", "turn_finished", "turn_failed"),
        *("exited", "launch_failed", "stop_asked"),
    }
)
_ASKING: Final = frozenset({"permission_asked", "permission_answered", "escalated", "escalation_answered"})
_PROVING: Final = frozenset({"receipt_written"})


def events_of(kind: str) -> tuple[EventName, ...]:
    """The events that a fact of this kind is told as, in order; the last is the one to remember its number by."""
    if kind in _ASKING:
        return (QUESTION, STATE)
    found: tuple[EventName, ...] = (RECEIPT,) if kind in _PROVING else ()
    return (*found, TASK, STATE) if kind in _TURNING else (*found, STATE)
