"""Gates: a command that a runbook names decides whether a task is finished. Pure."""

from __future__ import annotations

import shlex
from typing import Final

from rekindle.core.runbook.triggers import Trigger
from rekindle.core.session import facts as f
from rekindle.core.session.choosing import ChosenRule
from rekindle.core.session.escalating import conclusion, escalation
from rekindle.core.session.facts import AnyFact
from rekindle.core.session.state import OURS, Session

#: How much of the command's output a person and the agent are shown, in characters.
MOST_SHOWN: Final = 2000


def gate_wanted(session: Session, trigger: Trigger, held: ChosenRule, why: str, at: float) -> list[AnyFact]:
    """Have the command run. The id says where the session was, so that no other gate is taken for this one."""
    number = session.attempt.number if session.attempt is not None else 0
    turns = sum(one.attempt > 0 for one in session.prompts)
    gate = f"{trigger}-{number}-{turns}-{held.spent}"
    return [
        f.BudgetSpent(at=at, budget=held.budget),
        f.GateWanted(at=at, gate=gate, trigger=trigger, attempt=number, run=list(held.rule.run), why=why),
    ]


def after_gate(before: Session, fact: f.GateRan, after: Session) -> list[AnyFact]:
    """Exit 0 means done, anything else asks a person, with the command's output."""
    gate = before.gate
    if gate is None or gate.id != fact.gate:
        return []
    command = shlex.join(gate.run)
    if fact.passed:
        return conclusion(fact.at, "done", "")
    title = f"the gate `{command}` failed"
    asked = escalation(after, gate.trigger, title, fact.at, what="gate", detail=fact.output[-MOST_SHOWN:], gate=True)
    if asked or gate.trigger != "idle":
        return asked
    return [f.StopAsked(at=fact.at, by=OURS, to="asleep")]  # nobody is asked, and it is not tried again and again
