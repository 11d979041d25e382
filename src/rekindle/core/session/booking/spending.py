"""What turns use: reported while they run, reported again at their end, and added up once they are over. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.facts import Usage
from rekindle.core.session.state import Session, with_attempt


def spent(session: Session, prompt: str) -> Usage | None:
    """What a turn used, as far as it was reported while it ran."""
    return next((one.usage for one in session.prompts if one.id == prompt), None)


def taken_by(session: Session, fact: f.TurnFinished | f.TurnFailed) -> Usage | None:
    """What a turn used. An agent may report nothing at the end of a cancelled turn: then its earlier reports count."""
    before, told = spent(session, fact.prompt), fact.usage
    if before is None or told is None:
        return told or before
    return told if told.tokens >= before.tokens else replace(before, cost=told.cost)


def used(session: Session, usage: Usage | None) -> Session:
    """Book what a turn used, once it is over."""
    if usage is None:
        return session
    booked = replace(session, usage=session.usage.plus(usage))
    return with_attempt(booked, lambda a: replace(a, usage=a.usage.plus(usage)))
