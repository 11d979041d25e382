"""What an agent's questions, their answers and their end change in a session. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.asking import POLICY, open_questions, question_id
from rekindle.core.session.state import Permission, Session, Settled

#: So many questions that are over are remembered.
_SETTLED: Final = 20


def booked(session: Session, fact: f.QuestionFact) -> Session:
    """The session with one more question or answer."""
    match fact:
        case f.PermissionAsked():
            return _asked(session, fact)
        case f.PermissionAnswered():
            return _answered(session, fact)
        case _:
            assert_never(fact)


def turn_over(session: Session, at: float) -> Session:
    """A question ends with its turn. One that belongs to none is remembered once it is answered: it may come again."""
    kept = [one for one in session.permissions if one.answered and not one.prompt]
    return replace(_expired(session, at), permissions=kept)


def agent_gone(session: Session, at: float) -> Session:
    """Nobody waits for an answer any more."""
    return replace(_expired(session, at), permissions=[])


def _asked(session: Session, fact: f.PermissionAsked) -> Session:
    """With one more question; one that is known is not asked again."""
    if any(one.request == fact.request and one.attempt == fact.attempt for one in session.permissions):
        return session
    question = Permission(
        fact.request,
        fact.attempt,
        fact.title,
        fact.kind,
        fact.options,
        prompt=fact.prompt,
        id=question_id(session.id, fact),
        detail=fact.detail,
        at=fact.at,
    )
    return replace(session, permissions=[*session.permissions, question])


def _answered(session: Session, fact: f.PermissionAnswered) -> Session:
    """With the answer. The first one stands."""
    meant = next((one for one in session.permissions if one.request == fact.request and not one.answered), None)
    if meant is None:
        return session
    after = [replace(one, answered=True, option=fact.option) if one is meant else one for one in session.permissions]
    now = replace(session, permissions=after)
    return now if fact.by == POLICY else _remembered(now, [_over(meant, "answered", fact.at, fact.option, fact.by)])


def _expired(session: Session, at: float) -> Session:
    return _remembered(session, [_over(one, "expired", at) for one in open_questions(session)])


def _over(
    question: Permission, how: Literal["answered", "expired"], at: float, option: str | None = None, by: str = ""
) -> Settled:
    kind = next((kind for name, _, kind in question.options if name == option), "")
    return Settled(question.id, question.title, how, at, option, by, kind)


def _remembered(session: Session, over: Sequence[Settled]) -> Session:
    return replace(session, settled=[*session.settled, *over][-_SETTLED:]) if over else session
