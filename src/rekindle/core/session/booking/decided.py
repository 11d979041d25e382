"""What a fact that `react` has derived changes in a session. Pure."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.booking import questions
from rekindle.core.session.shortening import let_go
from rekindle.core.session.state import Gate, Session, with_attempt, with_prompt


def booked(session: Session, fact: f.DecidedFact) -> Session:
    """The session with one more decision."""
    match fact:
        case f.RulesSet():
            return replace(
                session, rules=fact.rules, rules_source=fact.source if fact.digest else "", rules_digest=fact.digest
            )
        case f.BudgetSpent():
            return replace(session, spent={**session.spent, fact.budget: session.spent.get(fact.budget, 0) + 1})
        case f.Progressed():
            left = {name: spent for name, spent in session.spent.items() if name not in fact.budgets}
            return replace(session, spent=left)
        case f.Postponed():
            return replace(session, retry_at=fact.until, message=fact.why or session.message)
        case f.TurnSettled():
            return _settled(session, fact)
        case f.ConversationLeft():
            token = None if session.token == fact.token else session.token
            lost = [*session.lost, fact.token]
            gone = replace(session, token=token, lost=lost, message=fact.why)
            return replace(gone, left_why=fact.why, untold=fact.untold, dehydrated=fact.dehydrated)
        case f.HeldBack():
            return replace(session, held=True, message=fact.why)
        case f.LimitReached():
            return replace(session, over=fact.over, message=fact.over)
        case f.Escalated():
            return questions.escalated(session, fact)
        case f.GateWanted():
            gate = Gate(fact.gate, fact.trigger, fact.run, fact.why)
            return session if session.gate is not None else replace(session, gate=gate)
        case f.TimerSet():
            return replace(session, timers={**session.timers, fact.timer: fact.until})
        case f.Due():
            late = with_attempt(session, lambda a: replace(a, overdue=True)) if fact.timer == "proof" else session
            return replace(late, timers={name: at for name, at in session.timers.items() if name != fact.timer})
        case _:
            assert_never(fact)


def _settled(session: Session, fact: f.TurnSettled) -> Session:
    if fact.to == "queued":
        return with_prompt(session, fact.prompt, state="queued")
    over = with_prompt(session, fact.prompt, state="failed", outcome=fact.outcome, cut=fact.cut)
    return replace(let_go(over, fact.prompt), message=fact.why or session.message)
