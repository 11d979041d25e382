"""The triggers of a runbook, the actions that each of them allows, and the types of errors. Pure data.

This is the one table of which action is valid for which trigger. Editors and the parser check against these types.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

#: Why a turn failed, as far as that decides what happens next.
ErrorClass = Literal[
    "rate_limited",
    "overloaded",
    "out_of_credits",
    "unauthorized",
    "no_internet",
    "context_overflow",
    "session_lost",
    "other",
]
Trigger = Literal["idle", "dead", "error", "stall", "ask", "limit", "context"]

IdleAction = Literal["nudge", "done", "fail", "escalate", "gate", "sleep"]
DeadAction = Literal["done", "fail", "resume", "escalate", "gate", "stop"]
ErrorAction = Literal["fail", "resume", "escalate", "gate", "wait", "compact", "renew"]
StallAction = Literal["nudge", "fail", "resume", "escalate", "stop"]
AskAction = Literal["allow", "deny", "escalate"]
LimitAction = Literal["fail", "escalate", "stop"]
ContextAction = Literal["dehydrate", "compact", "leave"]
#: What a rule for a full context may be for: a session that works through a skill, an agent that compacts by itself.
ContextMatch = Literal["skill", "compacts"]
Action = Literal[
    "nudge",
    "done",
    "fail",
    "resume",
    "escalate",
    "gate",
    "sleep",
    "wait",
    "compact",
    "renew",
    "stop",
    "allow",
    "deny",
    "dehydrate",
    "leave",
]

#: The old name of `resume`. It still works, with a warning.
RECOVER: Final = "recover"
ERROR_CLASSES: Final[tuple[str, ...]] = get_args(ErrorClass)
TRIGGERS: Final[tuple[Trigger, ...]] = get_args(Trigger)
ALLOWED: Final[dict[Trigger, tuple[Action, ...]]] = {
    "idle": get_args(IdleAction),
    "dead": get_args(DeadAction),
    "error": get_args(ErrorAction),
    "stall": get_args(StallAction),
    "ask": get_args(AskAction),
    "limit": get_args(LimitAction),
    "context": get_args(ContextAction),
}
#: What each action does, in one sentence, for people.
MEANING: Final[dict[Action, str]] = {
    "nudge": "send a message to the live agent",
    "done": "the task is finished",
    "fail": "the task failed, and the trigger is the reason",
    "resume": "start the agent again with its history, or tell a live one to go on",
    "escalate": "ask a person",
    "gate": "run a command: exit 0 means done, anything else asks a person",
    "sleep": "end the idle agent; the next prompt wakes it",
    "wait": "try the turn again later",
    "compact": "have the agent shorten its conversation, then go on",
    "renew": "go on in a new conversation that is told the history",
    "stop": "leave it stopped until a person says otherwise",
    "allow": "answer yes, once",
    "deny": "answer no",
    "dehydrate": "have the agent sum up, and go on in a new conversation that is told the summary",
    "leave": "do nothing: the agent shortens its conversation by itself",
}
