"""Facts that `react` derives from other facts: what rekindle has decided about a session, as data.

They are recorded with the fact that gave rise to them, in one transaction. Whoever folds a session later needs no
rules: all that the rules once said is in these. `Due`, which the clock tells, stands beside the timer that it ends.
"""

from __future__ import annotations

from typing import Literal

from rekindle.core.fact import Fact
from rekindle.core.session.rules import BudgetName, Rules

#: What a session waits for: to be put to sleep, to be ready, or for the end of a turn that takes too long.
TimerName = Literal["idle", "start", "turn"]


class RulesSet(Fact, frozen=True, kw_only=True, tag="rules_set"):
    """These rules hold for the session from now on. `source` says where they come from."""

    rules: Rules
    source: str


class BudgetSpent(Fact, frozen=True, kw_only=True, tag="budget_spent"):
    """Something was done by itself that may be done only so often without progress."""

    budget: BudgetName


class Progressed(Fact, frozen=True, kw_only=True, tag="progressed"):
    """There was progress, or a person has asked: what was spent of these budgets counts no more."""

    budgets: list[BudgetName]


class Postponed(Fact, frozen=True, kw_only=True, tag="postponed"):
    """The next thing that happens by itself happens at `until`. `why` is for a person; empty: nothing new to say."""

    until: float
    why: str = ""


class TurnSettled(Fact, frozen=True, kw_only=True, tag="turn_settled"):
    """What becomes of a turn that was cut, now that the agent's own record is known.

    `to` is `queued` if its prompt is sent again, and `failed` if it is over. `cut`: see `state.Prompt`. `why` is for a
    person; empty: nothing to say.
    """

    prompt: str
    to: Literal["queued", "failed"]
    outcome: str = ""
    cut: Literal["open", "known", "lost"] = "open"
    why: str = ""


class ConversationLeft(Fact, frozen=True, kw_only=True, tag="conversation_left"):
    """The conversation is given up: the next attempt begins a new one, which is told the history of this one."""

    token: str
    why: str


class HeldBack(Fact, frozen=True, kw_only=True, tag="held_back"):
    """Nothing goes on by itself before a person says so."""

    why: str


class LimitReached(Fact, frozen=True, kw_only=True, tag="limit_reached"):
    """The session has taken all that it may take. It stays resumable with a higher limit."""

    over: str


class TimerSet(Fact, frozen=True, kw_only=True, tag="timer_set"):
    """`Due` is to be told at `until`, unless what it is for is over by then."""

    timer: TimerName
    until: float


class Due(Fact, frozen=True, kw_only=True, tag="due"):
    """The time of a timer has come. `until` is the time that it was set to."""

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
    | TimerSet
    | Due
)
