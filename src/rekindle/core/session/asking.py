"""An agent's questions: which id a question has, which one an id means, and what an answer to it means. Pure.

The id follows from everything that a person is shown of the question. An answer names it, so that it never reaches a
question that was not on the screen, not even one for which the agent reuses a request number.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Final

import msgspec

from rekindle.core.inbox.question import Question, QuestionOption
from rekindle.core.session import facts as f
from rekindle.core.session.failure_words import plain
from rekindle.core.session.state import Escalation, Permission, Session, Settled

#: The first letter of every question's id. A session's id is hexadecimal, so the two cannot be confused.
MARK: Final = "q"
_DIGITS: Final = 10
POLICY: Final = "policy"
#: Who answers, if a rule of `on_ask` does.
RUNBOOK: Final = "the runbook"
#: The answers after which the agent goes on, and can be told something.
TELLING: Final = ("resume", "nudge", "raise")
#: Tools that change nothing.
_READING: Final = frozenset({"read", "search", "think"})
_WORDS: Final = {"allow": "allow_once", "deny": "reject_once"}


class Found(msgspec.Struct, frozen=True):
    """A question that an id refers to: an open one, or one that is over."""

    session: str
    open: Permission | Escalation | None = None
    over: Settled | None = None


def question_id(session: str, fact: f.PermissionAsked) -> str:
    """The id of a question: the same whenever the same question is reported again, and never that of another one."""
    shown = [session, fact.attempt, fact.request, fact.prompt, fact.title, fact.kind, fact.detail, fact.options]
    return MARK + hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:_DIGITS]


def escalation_id(session: str, fact: f.Escalated) -> str:
    """The id of one of rekindle's own questions. It names the place, so a later one is a different question."""
    shown = [session, fact.trigger, fact.attempt, fact.prompt, fact.title, fact.detail, fact.options, fact.at]
    return MARK + hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:_DIGITS]


def open_questions(session: Session) -> list[Permission]:
    """What waits for a person, oldest first."""
    return [one for one in session.permissions if not one.answered]


def all_open(session: Session) -> list[Permission | Escalation]:
    """What waits for a person: the agent's questions, and rekindle's own."""
    own = [session.escalation] if session.escalation is not None else []
    return [*open_questions(session), *own]


def meant(sessions: Iterable[Session], given: str) -> list[Found]:
    """The questions that an id, or the beginning of one, can mean: if one matches exactly, only that one."""
    if not given.startswith(MARK):
        return []
    found: dict[str, Found] = {}
    for session in sessions:
        for over in session.settled:
            found[over.id] = Found(session.id, over=over)
        for one in all_open(session):
            found[one.id] = Found(session.id, open=one)
    if given in found:
        return [found[given]]
    return [one for name, one in found.items() if name.startswith(given)]


def option_meant(question: Permission | Escalation, given: str) -> str | None:
    """The id of the option that a word means: `allow` and `deny` by what an option does, others by its id or kind.

    Neither word ever means "always", nor an option that an agent merely labels so.
    """
    if given in _WORDS:
        return _first(option[0] for option in question.options if option[2] == _WORDS[given])
    by_name = _first(option[0] for option in question.options if option[0] == given)
    return by_name or _first(option[0] for option in question.options if option[2] == given)


def is_same_answer(over: Settled, given: str) -> bool:
    """Whether a word means the option that a question was answered with."""
    return given == over.option or (bool(over.kind) and _WORDS.get(given, given) == over.kind)


def shown(session: Session, question: Permission | Escalation) -> dict[str, object]:
    """A question as lists and answers show it."""
    return as_question(session, question).document


def as_question(session: Session, question: Permission | Escalation) -> Question:
    """A question about a session in the one shape of all questions."""
    options = tuple(QuestionOption(*one) for one in question.options)
    if isinstance(question, Escalation):
        return Question(
            id=question.id,
            session=session.id,
            feature=session.feature,
            kind=question.trigger,
            title=plain(question.title),
            detail=question.detail,
            options=options,
            recommended=question.recommended or None,
            otherwise=question.otherwise,
            asked_at=question.at,
            takes_text=tuple(one.id for one in options if one.id in TELLING),
        )
    ends = turn_ends_at(session)
    return Question(
        id=question.id,
        session=session.id,
        feature=session.feature,
        kind="permission",
        tool=question.kind,
        title=question.title,
        detail=question.detail,
        options=options,
        recommended=_recommended(question),
        otherwise="the agent waits" if ends is None else "the agent waits until the time of its turn is over",
        expires_at=ends,
        asked_at=question.at,
    )


def turn_ends_at(session: Session) -> float | None:
    """When the time of the turn that runs is over; None if it has no limit."""
    turn, seconds = session.turn, session.limits.turn_seconds
    return turn.sent_at + seconds if turn is not None and turn.sent_at and seconds else None


def _recommended(question: Permission) -> str | None:
    """Allow once what only reads; of everything else, the careful answer is no: the agent can find another way."""
    wanted = "allow_once" if question.kind in _READING else "reject_once"
    return _first(name for name, _, kind in question.options if kind == wanted)


def _first(names: Iterable[str]) -> str | None:
    return next(iter(names), None)
