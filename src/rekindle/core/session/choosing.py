"""Which rule of a session's runbook applies now, and which budget pays for it. Pure.

The first rule that matches wins. Rules with the same `match` form a ladder: when the attempts of one are used up, or
it is impossible here, the next one applies. When no rule is left, a person is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from rekindle.core.runbook.reaction import Reaction
from rekindle.core.runbook.triggers import Trigger
from rekindle.core.session.state import Permission, Prompt, Session

#: Characters by which one command becomes two.
_OF_THE_SHELL: Final = frozenset(";&|`$<>(){}\n\r\\")
_ASK: Final = Reaction("escalate", attempts=None)
#: Budgets that are older than runbooks.
_NAMED: Final = {
    ("dead", "resume"): "restarts",
    ("error", "compact"): "compactions",
    ("error", "renew"): "renewals",
    ("idle", "nudge"): "nudges",
    ("context", "dehydrate"): "dehydrations",
}


class ChosenRule(NamedTuple):
    """A rule that applies, the budget that pays for it, and how much of that is spent."""

    rule: Reaction
    budget: str
    spent: int

    @property
    def pause(self) -> float:
        """How long to wait before it is carried out."""
        return self.rule.pause(self.spent)


def budget_of(trigger: Trigger, rule: Reaction, what: str = "") -> str:
    """The name of the budget: by trigger and type of error. Retries are counted separately for each type of error."""
    known = _NAMED.get((trigger, rule.action))
    if known is not None:
        return known
    if trigger == "error" and rule.action in ("wait", "resume"):
        return f"retries:{what}"
    return ":".join(one for one in (trigger, what, rule.action) if one)


def chosen(
    session: Session,
    trigger: Trigger,
    what: str = "",
    *,
    transient: bool = False,
    can: Callable[[Reaction], bool] = lambda _rule: True,
) -> ChosenRule:
    """The rule that applies. `what` is the type of the error, `can` says whether a rule is possible here."""
    rules = session.rules.of(trigger)
    first = next((one for one in rules if _matches(one, what, transient=transient)), None)
    for rule in (one for one in rules if first is not None and one.match == first.match):
        budget = budget_of(trigger, rule, what)
        spent = session.spent.get(budget, 0) + (session.spent.get("retries", 0) if budget.startswith("retries:") else 0)
        if rule.is_left(spent) and can(rule):
            return ChosenRule(rule, budget, spent)
    return ChosenRule(_ASK, budget_of(trigger, _ASK, what), 0)


def newest_turn(session: Session) -> Prompt | None:
    """The prompt that was sent last, whatever the clock said then."""
    sent = (one for one in session.prompts if one.attempt)
    return max(sent, key=lambda one: (one.attempt, one.message, one.sent_at), default=None)


def idle_rule(session: Session) -> ChosenRule:
    """The rule for an idle agent. Before its first turn, after one that failed or was cancelled, on hold: it sleeps."""
    held, newest = chosen(session, "idle"), newest_turn(session)
    if newest is not None and newest.state == "done" and newest.outcome != "cancelled" and not session.on_hold:
        return held
    sleep = Reaction("sleep", attempts=None, cooldown=(session.rules.idle_seconds,))
    return held if held.rule.action == "sleep" else ChosenRule(sleep, budget_of("idle", sleep), 0)


def rule_for_question(session: Session, question: Permission) -> Reaction | None:
    """The rule that answers a question of the agent's; None: a person answers it."""
    for rule in session.rules.of("ask"):
        if _is_meant(rule, question):
            return rule if rule.action in ("allow", "deny") else None
    return None


def _is_meant(rule: Reaction, question: Permission) -> bool:
    """Whether a rule is for a question. The agent writes all of it, so that a yes is given to whole commands only.

    A pattern that allows is held against the command (the title, where there is none) and never lets a character of the
    shell pass that it does not name itself; or it is the kind of tool, to the letter.
    """
    if not rule.match:
        return True
    if rule.action != "allow":
        return any(fnmatchcase(one, rule.match) for one in (question.title, question.detail, question.kind))
    command = question.detail or question.title
    smuggled = any(one in _OF_THE_SHELL and one not in rule.match for one in command)
    return rule.match == question.kind or (fnmatchcase(command, rule.match) and not smuggled)


def _matches(rule: Reaction, what: str, *, transient: bool) -> bool:
    return not rule.match or rule.match == what or (rule.match == "transient" and transient)
