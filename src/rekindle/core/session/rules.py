"""The rules of a session: what rekindle does about it automatically, and how often. Pure data.

A session's rules are recorded as a fact when it begins, so that a later version of rekindle, or another setting,
changes no existing session. Every budget counts what was spent since the last progress.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from rekindle.core.runbook.limits import Limits
from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.runbook import Reactions
from rekindle.core.runbook.triggers import Action, Trigger

#: What the first budgets are for: automatic restarts of an agent, retries of a failed turn, shortening a conversation
#: that is too long, and beginning a new conversation if the old one is lost or too long.
BudgetName = Literal["restarts", "retries", "compactions", "renewals"]
#: Errors that go away by themselves.
PASSING: Final = ("rate_limited", "overloaded", "no_internet")
_POLICIES: Final[dict[Action, str]] = {"resume": "continue", "stop": "never"}
#: How often a conversation is dehydrated without visible work in between.
_DEHYDRATIONS: Final = 3
#: More often than anything can happen.
_FOREVER: Final = 1_000_000_000


class Budget(msgspec.Struct, frozen=True):
    """How often something may be done without progress, and how many seconds to wait before each time.

    The last pause applies to all later times.
    """

    times: int
    pauses: tuple[float, ...] = (0.0,)

    def pause(self, spent: int) -> float:
        """How long to wait before the next time."""
        return self.pauses[min(spent, len(self.pauses) - 1)]


class Rules(msgspec.Struct, frozen=True):
    """What rekindle does automatically about one session.

    `reactions` are the runbook's. If it has none for a trigger, the other fields say what happens. `policy` says what
    happens when its agent dies: it continues (`continue`), a person decides (`ask`), or nothing ever happens by
    itself (`never`). `failed_start_pauses` apply to a restart after the agent could not be started: what keeps it from
    starting takes longer to go away than what kills it. An agent that has nothing to do for `idle_seconds` is put to
    sleep. An agent has to be ready after `start_seconds`. A summary that it is asked for has to be there after
    `summary_seconds`, or one is made without it.
    """

    policy: str = "ask"
    limits: Limits = Limits()
    restarts: Budget = Budget(3, (0.0, 2.0, 8.0))
    failed_start_pauses: tuple[float, ...] = (2.0, 15.0, 60.0)
    retries: Budget = Budget(12, (5.0, 10.0, 20.0, 45.0, 90.0, 180.0, 300.0, 600.0))
    compactions: Budget = Budget(1)
    renewals: Budget = Budget(1)
    idle_seconds: float = 600.0
    start_seconds: float = 60.0
    summary_seconds: float = 300.0
    reactions: Reactions = Reactions()

    def budget(self, name: BudgetName) -> Budget:
        """The budget with this name."""
        match name:
            case "restarts":
                return self.restarts
            case "retries":
                return self.retries
            case "compactions":
                return self.compactions
            case "renewals":
                return self.renewals

    def of(self, trigger: Trigger) -> tuple[Reaction, ...]:
        """The rules for a trigger, in order: the runbook's, or what follows from the other fields."""
        given = self.reactions.of(trigger)
        if given is not None:
            return given
        match trigger:
            case "idle":
                return (Reaction("sleep", attempts=None, cooldown=(self.idle_seconds,)),)
            case "dead":
                return (self._on_dead(),)
            case "error":
                return self._on_error()
            case "stall" | "limit":
                return (Reaction("stop", attempts=None),)
            case "ask":
                return (Reaction("escalate"),)
            case "context":
                return self._on_context()

    def _on_dead(self) -> Reaction:
        if self.policy == "continue":
            return Reaction("resume", attempts=self.restarts.times, cooldown=self.restarts.pauses)
        return Reaction("stop" if self.policy == "never" else "escalate")

    def _on_error(self) -> tuple[Reaction, ...]:
        if self.policy == "never":
            return (Reaction("escalate"),)
        later = self.retries
        too_long = (
            Reaction("compact", "context_overflow", attempts=self.compactions.times),
            Reaction("renew", "context_overflow", attempts=self.renewals.times),
        )
        return (
            *(Reaction("wait", one, attempts=later.times, cooldown=later.pauses) for one in (*PASSING, "transient")),
            *(reversed(too_long) if self.limits.dehydrate_first else too_long),
            Reaction("escalate"),
        )

    def _on_context(self) -> tuple[Reaction, ...]:
        """Which comes first, dehydration or the agent's own compaction, which keeps the conversation."""
        always = Reaction("dehydrate", attempts=_DEHYDRATIONS)
        if self.limits.dehydrate_first:
            return (always,)
        return (replace(always, match="skill"), Reaction("leave", "compacts", attempts=None), always)


def governed(rules: Rules, reactions: Reactions) -> Rules:
    """The rules with a runbook on top: its `on_dead` is the policy, and says how often an agent is started again."""
    rules = replace(rules, reactions=reactions)
    if not reactions.dead:
        return rules
    rule = reactions.dead[0]
    rules = replace(rules, policy=_POLICIES.get(rule.action, "ask"))
    if rule.action != "resume":
        return rules
    return replace(rules, restarts=Budget(_FOREVER if rule.attempts is None else rule.attempts, rule.cooldown))


#: The defaults.
BUILT_IN = Rules()


def ruled(policy: str, reactions: Reactions, *, policy_given: bool = False) -> Rules | None:
    """The rules of a new session: a given policy overrides the runbook. None: the runbook says nothing."""
    if policy_given:
        reactions = replace(reactions, dead=None)
    return None if reactions == Reactions() else governed(replace(BUILT_IN, policy=policy), reactions)
