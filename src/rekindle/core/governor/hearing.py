"""What the governor hears of sessions: one fact of its own for each of theirs that concerns all of them. Pure.

It remembers how far it has heard, so that after a crash it continues where it was, and after the store was lost it
hears everything again that sessions still know.
"""

from __future__ import annotations

from typing import Final

from rekindle.core.fact import Fact
from rekindle.core.governor import facts as g
from rekindle.core.session import facts as f
from rekindle.core.session.facts import Usage

#: The names of the facts of sessions that it listens to.
KINDS: Final = tuple(
    str(one.__struct_config__.tag)
    for one in (f.BudgetSpent, f.Progressed, f.Spent, f.TurnFinished, f.TurnFailed, f.PromptQueued)
)


def heard(session: str, seq: int, fact: Fact) -> g.GovernorFact | None:
    """What a session's fact means for all of them; None: nothing."""
    match fact:
        case f.BudgetSpent(in_vain=True):
            effect = f"launch-{session}-{fact.attempt}"
            return g.RestartCounted(at=fact.at, session=session, effect=effect, seq=seq)
        case f.Progressed() if "restarts" in fact.budgets:
            return g.ProgressHeard(at=fact.at, session=session, seq=seq)
        case f.Spent():
            return _paid(session, seq, fact, fact.usage, over=False)
        case f.TurnFinished() | f.TurnFailed():
            return _paid(session, seq, fact, fact.usage, over=True)
        case f.PromptQueued() if fact.limit and fact.after is not None:
            return g.LimitHeard(at=fact.at, session=session, limit=fact.limit, until=fact.after, seq=seq)
        case _:
            return None


def _paid(
    session: str, seq: int, fact: f.Spent | f.TurnFinished | f.TurnFailed, usage: Usage | None, *, over: bool
) -> g.TurnPaid | None:
    if usage is None or usage.cost is None:
        return None
    return g.TurnPaid(
        at=fact.at, session=session, turn=f"{fact.attempt} {fact.prompt}", cost=usage.cost, over=over, seq=seq
    )
