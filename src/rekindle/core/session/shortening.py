"""What a session need not keep in full: it is written as a whole, and some of its parts may be very long. Pure."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rekindle.core.session.prompt_marks import mark
from rekindle.core.session.state import OURS, Attempt, Session, with_prompt

#: How much is kept of the last text of an attempt that is long over.
_SAID_BEFORE: Final = 200


def let_go(session: Session, prompt: str) -> Session:
    """Keep only as much of a finished prompt of ours as it takes to find it in a record: it may quote very much."""
    one = next(one for one in session.prompts if one.id == prompt)
    return with_prompt(session, prompt, text=mark(one.text)) if one.by == OURS else session


def shortened(session: Session) -> list[Attempt]:
    """The attempts so far. Of those before the last, only a turn that is still cut needs all that was said in it."""
    turn = session.turn
    needed = {turn.attempt if turn is not None else 0, session.attempts[-1].number if session.attempts else 0}
    return [
        replace(one, cut=replace(one.cut, said=one.cut.said[-_SAID_BEFORE:]))
        if one.cut is not None and one.number not in needed
        else one
        for one in session.attempts
    ]
