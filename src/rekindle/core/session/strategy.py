"""How a session comes back: which of its conversations is resumed, or why a new one is begun. Pure.

The agent's newest conversation comes first, then the earlier ones of the same session, newest first. A conversation
that the agent itself has disowned is not tried again. If nothing can be read, the agent is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

import msgspec

from rekindle.core.session.state import Session, nothing_ever_ran

#: What is known about the agent's own record of one conversation.
RecordState = Literal["intact", "repaired", "restored", "missing", "unsupported"]


class Evidence(msgspec.Struct, frozen=True):
    """The record of one conversation, as it is on disk now. `prompts` None: it could not be read.

    `lacks` says what a resume from it would be missing, although it was acknowledged; empty: nothing.
    """

    token: str
    state: RecordState
    prompts: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    compactions: int = 0
    lacks: str = ""


class Choice(msgspec.Struct, frozen=True):
    """What to start. `why` is the reason for a new conversation, in words."""

    how: Literal["new", "load"]
    token: str | None = None
    known: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    why: str = ""
    compactions: int = 0


def candidates(session: Session) -> list[str]:
    """The conversations that can be resumed, best first. None if the newest was abandoned: its history is told."""
    if session.token is None or not session.is_loadable:
        return []
    own = takewhile(lambda one: one.agent == session.agent, reversed(session.attempts))
    earlier = [one.token for one in own if one.token is not None and one.opened]
    return [token for token in dict.fromkeys([session.token, *earlier]) if token not in session.lost]


def choose(session: Session, evidence: Sequence[Evidence], now: float) -> Choice:
    """Which conversation the next attempt loads, or why it begins a new one.

    The evidence is about `candidates`, in the same order.
    """
    tokens = [one.token for one in evidence]
    if not tokens:
        why = "" if session.attempt is None or nothing_ever_ran(session) else _why_none(session)
        return Choice("new", why=session.left_why or why)
    barred = _barred(session, now)
    if barred is not None:
        return Choice("new", why=barred)
    if nothing_ever_ran(session) and all(one.state == "missing" for one in evidence):
        return Choice("new")  # it was ended before it had written a word: nothing is lost
    usable = next((one for one in evidence if one.state != "missing"), None)
    if usable is None:
        return Choice("load", tokens[0], notes=evidence[0].notes)  # only the agent's own word ends a conversation
    if usable.lacks:  # the agent would not notice; the history that a new conversation is told has all of it
        return Choice("new", why=usable.lacks, notes=usable.notes)
    notes = usable.notes
    if usable.token != tokens[0]:
        notes = (
            *evidence[0].notes,
            f"the newest conversation is lost; an earlier one is resumed: {usable.token}",
            *notes,
        )
    return Choice("load", usable.token, known=usable.prompts, notes=notes, compactions=usable.compactions)


def load_not_before(session: Session, span: float, now: float) -> float:
    """When a conversation may be loaded: not in a span of the clock in which the agent has opened one.

    Nor just before such a span: a start takes a moment. If one is farther ahead, the clock was set back since, and
    nobody waits for that.
    """
    if not span:
        return now
    spans = {one.opened_at // span for one in session.attempts if one.agent in ("", session.agent)}
    here = now // span
    taken = [ahead for ahead in (here, here + 1) if ahead in spans]
    return (taken[-1] + 1) * span if taken else now


def token_stored_at(session: Session) -> float:
    """When the newest resume token was stored: each attempt that opens the conversation stores it again."""
    return max((one.opened_at for one in session.attempts if one.token is not None), default=0) or session.created_at


def _barred(session: Session, now: float) -> str | None:
    limits = session.limits
    if limits.age_seconds is not None and now - token_stored_at(session) > limits.age_seconds:
        return f"the conversation was last opened more than {limits.age_seconds:g} s ago, and should not be resumed"
    resumed = sum(one.how == "load" and one.opened for one in session.attempts)
    if limits.resumes is not None and resumed >= limits.resumes:
        return f"the conversation was resumed {resumed} times, and may be resumed {limits.resumes} times"
    return None


def _why_none(session: Session) -> str:
    before = session.attempts[-1].agent
    if before not in ("", session.agent):
        return f"{before} has handed over to {session.agent}"
    if not session.can_load:
        return "the agent cannot load a conversation"
    last = session.attempts[-1]
    if session.token is None and (last.given_up or last.lacks):
        return last.given_up or last.lacks
    if session.token is None and last.how == "new" and last.why:
        return last.why  # it ended before it could begin a new one
    if session.token is not None and not session.native:
        return f"{session.agent} is not trusted to load a conversation"
    return "the agent has lost the conversation"
