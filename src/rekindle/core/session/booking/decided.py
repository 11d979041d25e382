"""What a fact that `react` has derived changes in a session. Pure."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.shortening import let_go
from rekindle.core.session.state import Session, with_prompt


def booked(session: Session, fact: f.DecidedFact) -> Session:
    """The session with one more decision."""
    match fact:
        case f.RulesSet():
            return replace(session, rules=fact.rules)
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
            return replace(session, token=token, lost=[*session.lost, fact.token], message=fact.why)
        case f.HeldBack():
            return replace(session, held=True, message=fact.why)
        case f.LimitReached():
            return replace(session, over=fact.over, message=fact.over)
        case f.TimerSet():
            return replace(session, timers={**session.timers, fact.timer: fact.until})
        case f.Due():
            return replace(session, timers={name: at for name, at in session.timers.items() if name != fact.timer})
        case _:
            assert_never(fact)


def _settled(session: Session, fact: f.TurnSettled) -> Session:
    if fact.to == "queued":
        return with_prompt(session, fact.prompt, state="queued")
    over = with_prompt(session, fact.prompt, state="failed", outcome=fact.outcome, cut=fact.cut)
    return replace(let_go(over, fact.prompt), message=fact.why or session.message)
