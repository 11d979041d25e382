"""The machines that make up a session, as tables. No other file says which state follows which.

A session is four machines that move together: its state, the status of its newest attempt, the state of each prompt,
and what holds it. A fact about an attempt or a prompt counts only if the table has a row for it; the
pairs in the `IGNORED` tables are ignored on purpose. That is what makes it harmless to fold a spool again from its
start. Everything that is not in a table (messages, tokens, usage) is booked in `booking`. Pure data.
"""

from __future__ import annotations

from typing import Final, Literal

from rekindle.core.session import facts as f
from rekindle.core.session.state import State

Status = Literal["none", "launching", "up", "ready", "gone"]
PromptState = Literal["none", "queued", "sent", "began", "done", "failed", "cut", "cancelled"]
STATUSES: Final[tuple[Status, ...]] = ("none", "launching", "up", "ready", "gone")
PROMPT_STATES: Final[tuple[PromptState, ...]] = (
    "none",
    "queued",
    "sent",
    "began",
    "done",
    "failed",
    "cut",
    "cancelled",
)
S, R, W = State.STARTING, State.RUNNING, State.WAITING_FOR_INPUT

#: The session: (state, fact) -> state. A pair that is not here leaves the state as it is.
TRANSITIONS: Final[dict[tuple[State, type[f.Fact]], State]] = {
    **{(state, f.LaunchIntended): S for state in State},
    (S, f.Opened): W,
    (S, f.PromptSent): R,
    (W, f.PromptSent): R,
    (R, f.TurnFinished): W,
    (R, f.TurnFailed): W,
}

#: Where a refusal to open the conversation leads while the session is starting. If the cause may be gone at the next
#: try, it is not an end: the session stays where it is, and is interrupted.
REFUSALS: Final[dict[f.Refusal, State]] = {
    "unknown_session": W,
    "incomplete": W,
    "unsupported": W,
    "unauthorized": S,
    "timeout": S,
    "other": S,
}

#: Where a requested stop leads, from any state, once the tree is gone.
STOPS: Final[dict[str, State]] = {
    "asleep": W,
    "cancelled": State.CANCELLED,
    "completed": State.COMPLETED,
    "failed": State.FAILED,
}

#: What an agent tells about its conversation, from its start on.
_TOLD: Final = (f.Named, f.Compared, f.Compacted, f.ContextMeasured)

#: The newest attempt: (status, fact) -> status. `none`: the fact's attempt is not the newest one, or there is none.
ATTEMPTS: Final[dict[tuple[Status, type[f.Fact]], Status]] = {
    ("none", f.LaunchIntended): "launching",
    ("gone", f.LaunchIntended): "launching",
    ("launching", f.Launched): "up",
    ("launching", f.LaunchFailed): "gone",
    ("up", f.Opened): "ready",
    ("up", f.OpenRefused): "up",
    **{(status, f.Exited): "gone" for status in ("launching", "up", "ready")},
    **{(status, fact): status for status in ("up", "ready") for fact in _TOLD},
    **{(status, f.GivenUp): status for status in ("launching", "up", "ready")},
    **{(status, f.PermissionAsked): status for status in ("launching", "up", "ready")},
    **{
        ("ready", fact): "ready"
        for fact in (f.PromptSent, f.TurnBegan, f.Spent, f.TurnFinished, f.TurnFailed, f.Stalled)
    },
}

#: The prompt that a fact names: (state, fact) -> state. An agent that ends cuts the running turn (`booking.attempts`).
PROMPTS: Final[dict[tuple[PromptState, type[f.Fact]], PromptState]] = {
    ("none", f.PromptQueued): "queued",
    ("queued", f.PromptSent): "sent",
    ("sent", f.TurnBegan): "began",
    ("queued", f.CancelAsked): "cancelled",
    ("queued", f.PromptEdited): "queued",
    **{(state, f.CancelAsked): state for state in ("sent", "began")},
    **{(state, f.Spent): state for state in ("sent", "began")},
    **{(state, f.TurnFinished): "done" for state in ("sent", "began")},
    **{(state, f.TurnFailed): "failed" for state in ("sent", "began")},
    ("cut", f.TurnSettled): "failed",  # or queued again: the fact says which
}

#: What holds a session, or requires its agent: each is set and cleared by facts alone.
#: name -> (facts that set it, facts that clear it).
HOLDS: Final[dict[str, tuple[tuple[type[f.Fact], ...], tuple[type[f.Fact], ...]]]] = {
    "resume_asked": ((f.ResumeAsked,), (f.LaunchIntended, f.StopAsked)),
    "stop_asked": ((f.StopAsked,), (f.ResumeAsked, f.LaunchIntended, f.Exited, f.LaunchFailed)),
    "cancel_asked": ((f.CancelAsked,), (f.TurnFinished, f.TurnFailed)),
    "held": ((f.HeldBack,), (f.ResumeAsked, f.Opened, f.OpenRefused)),
    "on_hold": ((f.HoldAsked,), (f.HoldLifted, f.Hurried, f.ResumeAsked)),
    "over": ((f.LimitReached,), (f.ResumeAsked,)),
    "retry_at": ((f.Postponed, f.TurnFailed), (f.ResumeAsked, f.LaunchIntended, f.TurnFinished, f.Hurried)),
    "load_at": ((f.LoadPutOff,), (f.ResumeAsked, f.LaunchIntended)),
    "escalation": (
        (f.Escalated,),
        (
            *(f.EscalationAnswered, f.ResumeAsked, f.StopAsked, f.LaunchIntended, f.PromptSent, f.PromptQueued),
            *(f.TurnFinished, f.TurnFailed, f.Exited, f.LaunchFailed),
        ),
    ),
    "gate": (
        (f.GateWanted,),
        (
            *(f.GateRan, f.ResumeAsked, f.StopAsked, f.PromptQueued, f.PromptSent, f.LaunchIntended),
            *(f.Exited, f.LaunchFailed),
        ),
    ),
    "untold": ((f.ConversationLeft,), (f.LaunchIntended, f.ConversationLeft)),
    "dehydrated": ((f.ConversationLeft,), (f.TurnFinished, f.ConversationLeft)),
    "is_foreign": ((f.Imported,), (f.ResumeAsked, f.PromptQueued)),
}

#: Pairs that are ignored on purpose: the fact comes too late, is repeated, or is about another attempt or prompt.
IGNORED_ATTEMPTS: Final = frozenset(
    (status, fact) for status in STATUSES for fact in {one for _, one in ATTEMPTS} if (status, fact) not in ATTEMPTS
)
IGNORED_PROMPTS: Final = frozenset(
    (state, fact) for state in PROMPT_STATES for fact in {one for _, one in PROMPTS} if (state, fact) not in PROMPTS
)
