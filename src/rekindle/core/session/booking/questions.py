"""What questions, their answers and their end change in a session: an agent's questions, and rekindle's own. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, assert_never

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.asking import POLICY, escalation_id, open_questions, question_id
from rekindle.core.session.state import Escalation, Permission, Session, Settled

#: How many finished questions are remembered.
_SETTLED: Final = 20


def booked(session: Session, fact: f.QuestionFact) -> Session:
    """The session with one more question or answer."""
    match fact:
        case f.PermissionAsked():
            return _asked(session, fact)
        case f.PermissionAnswered():
            return _answered(session, fact)
        case f.EscalationAnswered():
            return _decided(session, fact)
        case f.GateRan():
            return replace(session, gate=None) if session.gate is not None and session.gate.id == fact.gate else session
        case _:
            assert_never(fact)


def turn_over(session: Session, at: float) -> Session:
    """A question ends with its turn. One that belongs to no turn is remembered once answered: it may come again."""
    kept = [one for one in session.permissions if one.answered and not one.prompt]
    return replace(_expired(_past(session, at, "stall"), at), permissions=kept)


def agent_gone(session: Session, at: float) -> Session:
    """Nobody waits for an answer any more."""
    return replace(_expired(_past(session, at, "stall", "idle"), at), permissions=[])


def escalated(session: Session, fact: f.Escalated) -> Session:
    """With a question about how to continue. An open one stays: there is one at a time."""
    if session.escalation is not None:
        return session
    question = Escalation(
        escalation_id(session.id, fact),
        fact.trigger,
        fact.title,
        fact.detail,
        fact.options,
        fact.recommended,
        fact.otherwise,
        fact.at,
    )
    return replace(session, escalation=question)


def decided_otherwise(session: Session, at: float) -> Session:
    """What was asked about has changed: the session continues, or ends, without an answer."""
    asked = session.escalation
    if asked is None:
        return session
    return _remembered(replace(session, escalation=None), [Settled(asked.id, asked.title, "expired", at)])


def told_more(session: Session, at: float) -> Session:
    """A person has said how to continue. A silent turn is silent all the same: the prompt waits behind it."""
    asked = session.escalation
    is_stuck = asked is not None and asked.trigger == "stall" and session.turn is not None
    return session if is_stuck else decided_otherwise(session, at)


def _past(session: Session, at: float, *triggers: str) -> Session:
    """Without a question about what is over."""
    asked = session.escalation
    return decided_otherwise(session, at) if asked is not None and asked.trigger in triggers else session


def _decided(session: Session, fact: f.EscalationAnswered) -> Session:
    """With the answer. The first one stands."""
    asked = session.escalation
    if asked is None or asked.id != fact.question:
        return session
    kind = next((kind for name, _, kind in asked.options if name == fact.option), "")
    over = Settled(asked.id, asked.title, "answered", fact.at, fact.option, fact.by, kind)
    return _remembered(replace(session, escalation=None), [over])


def _asked(session: Session, fact: f.PermissionAsked) -> Session:
    """With one more question; a known one is not asked again."""
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
