"""When to check an agent's own record, and what it says about how the agent continued."""

from __future__ import annotations

import contextlib

from rekindle.agents.base.transcript import Record
from rekindle.core.session import facts as f
from rekindle.core.session.prompt_marks import marks
from rekindle.core.session.proving import has_worked
from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.records import RecordComparison, Records
from rekindle.runtime.talk import Talk


def may_compare(session: Session, talk: Talk, facts: list[f.AnyFact]) -> bool:
    """Whether the agent has just worked for the first time since it came back: its record shows how it continues."""
    attempt = session.attempt
    if attempt is None or attempt.number != talk.attempt or attempt.how != "load" or attempt.compared:
        return False
    worked = any(isinstance(fact, f.TurnBegan | f.TurnFinished | f.TurnFailed) for fact in facts)
    return worked and talk.kind.proof == "transcript"


def is_uncompared(session: Session, attempt: int) -> bool:
    """Whether the attempt resumed a conversation and did something in it, and its record has not been checked yet."""
    newest = session.attempt
    if newest is None or newest.number != attempt or newest.how != "load" or newest.compared:
        return False
    return has_worked(session, attempt)


def stands(session: Session, found: f.Compared) -> bool:
    """Whether a comparison is final: during a turn the record may still grow, and it is checked again at the end."""
    attempt = session.attempt
    if attempt is None or attempt.compared:
        return False
    return found.extends is not None or session.turn is None


async def compared(records: Records, session: Session, talk: Talk, now: float) -> f.Compared:
    """Whether the agent's record continues from its state before the agent was started."""
    before = records.checked(session, talk.token) if talk.token is not None else None
    try:
        if before is None or talk.token is None:
            found = RecordComparison(None, (), "it was not looked at before the agent was started")
        else:
            found = await records.compare(session, talk.token, before)
    except RekindleError as error:
        found = RecordComparison(None, (), error.message)
    return f.Compared(
        at=now,
        attempt=talk.attempt,
        extends=found.extends,
        known=marks(found.prompts),
        why=found.why,
        lacks=found.lacks,
    )


async def compacted(records: Records, session: Session, talk: Talk, now: float) -> f.Compacted | None:
    """Whether the agent's record shows a compacted conversation: many agents compact without reporting it."""
    attempt = session.attempt
    if talk.wire.token is None or attempt is None or attempt.number != talk.attempt:
        return None
    with contextlib.suppress(RekindleError):
        record = await records.read(session, talk.wire.token)
        number = record.compactions - attempt.compacted_before if record is not None else 0
        if number > attempt.compactions:
            return f.Compacted(at=now, attempt=talk.attempt, why="as its own record says", number=number)
    return None


async def last_words(records: Records, session: Session) -> Record | None:
    """The agent's own record, if a turn was cut off: it may hold what the agent could no longer report."""
    if session.turn is None or session.token is None:
        return None
    with contextlib.suppress(RekindleError):
        return await records.read(session, session.token)
    return None
