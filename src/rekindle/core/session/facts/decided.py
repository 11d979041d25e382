"""Facts that `react` derives from other facts: what rekindle has decided about a session, as data.

They are recorded with the fact that caused them, in one transaction. Folding a session later needs no rules: all that
the rules once said is in these. `Due`, which comes from the clock, is next to the timer that it ends.
"""

from __future__ import annotations

from typing import Literal

from rekindle.core.fact import Fact
from rekindle.core.runbook.triggers import Trigger
from rekindle.core.session.rules import Rules

#: What a session waits for: to be put to sleep, to be ready, for the end of a turn that takes too long, for the
#: agent's own record of a turn that has ended, or for a summary.
TimerName = Literal["idle", "start", "turn", "proof", "summary"]


class RulesSet(Fact, frozen=True, kw_only=True, tag="rules_set"):
    """These rules apply to the session from now on. `source` says where they come from, `digest` is of that file."""

    rules: Rules
    source: str
    digest: str = ""


class BudgetSpent(Fact, frozen=True, kw_only=True, tag="budget_spent"):
    """Something was done automatically that may be done only a limited number of times without progress.

    For a restart, `attempt` is the one that is started; `in_vain`: the one before it had brought nothing.
    """

    budget: str
    attempt: int = 0
    in_vain: bool = False


class Progressed(Fact, frozen=True, kw_only=True, tag="progressed"):
    """There was progress, or a person has asked: what was spent from these budgets no longer counts."""

    budgets: list[str]


class Postponed(Fact, frozen=True, kw_only=True, tag="postponed"):
    """The next automatic step happens at `until`. `why` is for a person; empty: nothing new to say."""

    until: float
    why: str = ""


class TurnSettled(Fact, frozen=True, kw_only=True, tag="turn_settled"):
    """What happens to a turn that was cut off, now that the agent's own record is known.

    `to` is `queued` if its prompt is sent again, and `failed` if it is over. `cut`: see `state.Prompt`. `why` is for a
    person; empty: nothing to say.
    """

    prompt: str
    to: Literal["queued", "failed"]
    outcome: str = ""
    cut: Literal["open", "known", "lost"] = "open"
    why: str = ""


class ConversationLeft(Fact, frozen=True, kw_only=True, tag="conversation_left"):
    """The conversation is abandoned: the next attempt begins a new one, which is told the history of this one.

    `untold`: it is not told, because a runbook wants a fresh start. `dehydrated`: a summary is told instead of it, and
    must not be longer than the model can take.
    """

    token: str
    why: str
    untold: bool = False
    dehydrated: bool = False


class HeldBack(Fact, frozen=True, kw_only=True, tag="held_back"):
    """Nothing continues by itself until a person says so."""

    why: str


class LimitReached(Fact, frozen=True, kw_only=True, tag="limit_reached"):
    """The session has used all that it may. It stays resumable with a higher limit."""

    over: str


class Escalated(Fact, frozen=True, kw_only=True, tag="escalated"):
    """A person has to decide how the session continues. `attempt` and `prompt` say where it was.

    `options` are (id, label, kind). `otherwise` says what happens while nobody answers.
    """

    trigger: Trigger
    attempt: int
    title: str
    detail: str = ""
    prompt: str = ""
    options: list[tuple[str, str, str]] = []
    recommended: str = ""
    otherwise: str = ""


class GateWanted(Fact, frozen=True, kw_only=True, tag="gate_wanted"):
    """A command decides whether the task is finished. It may run again if rekindle dies while it runs."""

    gate: str
    trigger: Trigger
    attempt: int
    run: list[str]
    why: str = ""


class TimerSet(Fact, frozen=True, kw_only=True, tag="timer_set"):
    """`Due` will be reported at `until`, unless its purpose is over by then."""

    timer: TimerName
    until: float


class Due(Fact, frozen=True, kw_only=True, tag="due"):
    """A timer has run out. `until` is the time that it was set to."""

    timer: TimerName
    until: float


#: Every fact of this module.
DecidedFact = (
    RulesSet
    | BudgetSpent
    | Progressed
    | Postponed
    | TurnSettled
    | ConversationLeft
    | HeldBack
    | LimitReached
    | Escalated
    | GateWanted
    | TimerSet
    | Due
)
