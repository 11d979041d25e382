"""An agent's questions: which id a question has, what an answer means, and what became of those that are over. Pure.

The id follows from all that a person is shown of the question. Whoever answers names it, so that an answer never
reaches a question that was not on the screen, also not one for which the agent uses a request number again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.state import Permission, Session, Settled

#: The first letter of every question's id. A session's id is hexadecimal, so that the two cannot be mixed up.
MARK: Final = "q"
_DIGITS: Final = 10
#: So many questions that are over are remembered.
_SETTLED: Final = 20
POLICY: Final = "policy"
_WORDS: Final = {"allow": "allow_once", "deny": "reject_once"}


class Found(msgspec.Struct, frozen=True):
    """A question that somebody means: an open one, or one that is over."""

    session: str
    open: Permission | None = None
    over: Settled | None = None


def question_id(session: str, fact: f.PermissionAsked) -> str:
    """The id of a question: the same whenever the same one is told again, and that of no other question."""
    shown = [session, fact.attempt, fact.request, fact.prompt, fact.title, fact.kind, fact.detail, fact.options]
    return MARK + hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:_DIGITS]


def asked(session: Session, fact: f.PermissionAsked) -> Session:
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


def answered(session: Session, fact: f.PermissionAnswered) -> Session:
    """With the answer. The first one stands."""
    meant = next((one for one in session.permissions if one.request == fact.request and not one.answered), None)
    if meant is None:
        return session
    after = [replace(one, answered=True, option=fact.option) if one is meant else one for one in session.permissions]
    now = replace(session, permissions=after)
    return now if fact.by == POLICY else _remembered(now, [_over(meant, "answered", fact.at, fact.option, fact.by)])


def turn_over(session: Session, at: float) -> Session:
    """A question ends with its turn. One that belongs to none is remembered once it is answered: it may come again."""
    kept = [one for one in session.permissions if one.answered and not one.prompt]
    return replace(_expired(session, at), permissions=kept)


def agent_gone(session: Session, at: float) -> Session:
    """Nobody waits for an answer any more."""
    return replace(_expired(session, at), permissions=[])


def open_questions(session: Session) -> list[Permission]:
    """What waits for a person, oldest first."""
    return [one for one in session.permissions if not one.answered]


def meant(sessions: Iterable[Session], given: str) -> list[Found]:
    """The questions that an id, or the beginning of one, can mean: the exact one alone where there is one."""
    if not given.startswith(MARK):
        return []
    found: dict[str, Found] = {}
    for session in sessions:
        for over in session.settled:
            found[over.id] = Found(session.id, over=over)
        for one in open_questions(session):
            found[one.id] = Found(session.id, open=one)
    if given in found:
        return [found[given]]
    return [one for name, one in found.items() if name.startswith(given)]


def option_meant(question: Permission, given: str) -> str | None:
    """The id of the option that a word means: `allow` and `deny` by what an option does, others by its id or kind.

    Neither word ever means "always", nor what an agent merely calls so.
    """
    if given in _WORDS:
        return _first(option[0] for option in question.options if option[2] == _WORDS[given])
    by_name = _first(option[0] for option in question.options if option[0] == given)
    return by_name or _first(option[0] for option in question.options if option[2] == given)


def is_same_answer(over: Settled, given: str) -> bool:
    """Whether a word means the option that a question was answered with."""
    return given == over.option or (bool(over.kind) and _WORDS.get(given, given) == over.kind)


def shown(session: Session, question: Permission) -> dict[str, object]:
    """A question as lists and answers show it."""
    return {
        "id": question.id,
        "session": session.id,
        "feature": session.feature,
        "kind": "permission",
        "tool": question.kind,
        "title": question.title,
        "detail": question.detail,
        "options": [{"id": name, "label": label, "kind": kind} for name, label, kind in question.options],
        "recommended": None,
        "expires_at": None,
        "asked_at": question.at,
    }


def _expired(session: Session, at: float) -> Session:
    return _remembered(session, [_over(one, "expired", at) for one in open_questions(session)])


def _over(
    question: Permission, how: Literal["answered", "expired"], at: float, option: str | None = None, by: str = ""
) -> Settled:
    kind = _first(kind for name, _, kind in question.options if name == option) or ""
    return Settled(question.id, question.title, how, at, option, by, kind)


def _remembered(session: Session, over: Sequence[Settled]) -> Session:
    return replace(session, settled=[*session.settled, *over][-_SETTLED:]) if over else session


def _first(names: Iterable[str]) -> str | None:
    return next(iter(names), None)
