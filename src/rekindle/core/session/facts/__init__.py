"""What can happen to a session, as data. A fact is appended to the store before anything acts on it.

Facts are tagged and kept for ever, so fields may be added (with a default) and never changed or removed. There is one
module for each thing that facts are about, and `booking` has one of the same name that books them. What rekindle
decides about a session is a fact too: those are in `decided`. Whoever uses facts takes them from here.
"""

from __future__ import annotations

from rekindle.core.fact import Fact
from rekindle.core.session.facts.attempts import (
    PROMPT,
    AttemptFact,
    Compacted,
    Compared,
    Exited,
    GivenUp,
    How,
    Launched,
    LaunchFailed,
    LaunchIntended,
    LoadPutOff,
    Named,
    Opened,
    OpenRefused,
    ReceiptWritten,
    Refusal,
)
from rekindle.core.session.facts.decided import (
    BudgetSpent,
    ConversationLeft,
    DecidedFact,
    Due,
    HeldBack,
    LimitReached,
    Postponed,
    Progressed,
    RulesSet,
    TimerName,
    TimerSet,
    TurnSettled,
)
from rekindle.core.session.facts.life import (
    Adopted,
    Created,
    Imported,
    Noticed,
    Relocated,
    ResumeAsked,
    SessionFact,
    StopAsked,
)
from rekindle.core.session.facts.questions import PermissionAnswered, PermissionAsked, QuestionFact
from rekindle.core.session.facts.turns import (
    CancelAsked,
    ErrorClass,
    PromptQueued,
    PromptSent,
    Spent,
    Stalled,
    TurnBegan,
    TurnFact,
    TurnFailed,
    TurnFinished,
)
from rekindle.core.session.values import Cut, Handover, Limits, Receipt, Usage

AnyFact = SessionFact | AttemptFact | TurnFact | QuestionFact | DecidedFact

__all__ = [
    "PROMPT",
    "Adopted",
    "AnyFact",
    "AttemptFact",
    "BudgetSpent",
    "CancelAsked",
    "Compacted",
    "Compared",
    "ConversationLeft",
    "Created",
    "Cut",
    "DecidedFact",
    "Due",
    "ErrorClass",
    "Exited",
    "Fact",
    "GivenUp",
    "Handover",
    "HeldBack",
    "How",
    "Imported",
    "LaunchFailed",
    "LaunchIntended",
    "Launched",
    "LimitReached",
    "Limits",
    "LoadPutOff",
    "Named",
    "Noticed",
    "OpenRefused",
    "Opened",
    "PermissionAnswered",
    "PermissionAsked",
    "Postponed",
    "Progressed",
    "PromptQueued",
    "PromptSent",
    "QuestionFact",
    "Receipt",
    "ReceiptWritten",
    "Refusal",
    "Relocated",
    "ResumeAsked",
    "RulesSet",
    "SessionFact",
    "Spent",
    "Stalled",
    "StopAsked",
    "TimerName",
    "TimerSet",
    "TurnBegan",
    "TurnFact",
    "TurnFailed",
    "TurnFinished",
    "TurnSettled",
    "Usage",
]
