"""Questions in the daemon: which are open, and the answers to them. Who answers names the question, never a session."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.core.session import asking
from rekindle.core.session import facts as f
from rekindle.core.session.asking import Found
from rekindle.core.session.state import Permission, Settled
from rekindle.ports.errors import AnsweredAlready, NoSuchQuestion
from rekindle.runtime.supervisor import Supervisor

_LIST = "`rekindle inbox` lists the open questions"


class OpenQuestions(msgspec.Struct, frozen=True):
    """What agents ask now, oldest first; see `rekindle.core.session.asking.shown`."""

    questions: list[dict[str, Any]]


class AnsweredQuestion(msgspec.Struct, frozen=True):
    """The option that counts."""

    question: str
    session: str
    option: str


class Questions:
    """What agents ask people. Raises RekindleError."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._engine = supervisor.engine

    async def open(self, session: str | None = None) -> OpenQuestions:
        """All open questions, oldest first; of one session, if it is named by its whole id."""
        found = [
            asking.shown(one, question)
            for one in self._engine.at_hand()
            if session in (None, one.id)
            for question in asking.open_questions(one)
        ]
        return OpenQuestions(sorted(found, key=lambda one: one["asked_at"]))

    async def answer(self, question: str, option: str, *, by: str) -> AnsweredQuestion:
        """Answer a question, once. The same answer by the same asker is the same one: it may ask again."""
        found = await self._meant(question)
        if found.over is not None:
            return AnsweredQuestion(found.over.id, found.session, _again(found.over, option, by))
        assert found.open is not None
        chosen = asking.option_meant(found.open, option)
        if chosen is None:
            offered = ", ".join(one[0] for one in found.open.options)
            raise NoSuchQuestion(
                f"{option!r} is not an option of question {found.open.id}",
                f"choose one of: {offered}",
                code="no_such_option",
                details={"question": asking.shown(await self._engine.load(found.session), found.open)},
            )
        answered = f.PermissionAnswered(at=self._engine.clock(), request=found.open.request, option=chosen, by=by)
        await self._supervisor.record(found.session, answered)
        return await self._settled(found.open.id, found.session, chosen, by)

    async def _settled(self, question: str, session: str, chosen: str, by: str) -> AnsweredQuestion:
        """The answer that counts: somebody else may have been quicker."""
        now = asking.meant([await self._engine.load(session)], question)
        over = now[0].over if now else None
        if over is not None and (over.option, over.by) != (chosen, by):
            return AnsweredQuestion(question, session, _again(over, chosen, by))
        return AnsweredQuestion(question, session, chosen)

    async def _meant(self, given: str) -> Found:
        """What an id means; what the beginning of one means does not depend on which sessions are in memory."""
        at_hand = asking.meant(self._engine.at_hand(), given)
        exact = [one for one in at_hand if _name(one.open or one.over) == given]
        found = exact or asking.meant(await self._engine.all_sessions(), given)
        if len(found) == 1:
            return found[0]
        if not found:
            raise NoSuchQuestion(f"there is no question {given!r}", _LIST)
        names = ", ".join(_name(one.open or one.over) for one in found[:5])
        raise NoSuchQuestion(f"{given!r} can mean {len(found)} questions: {names}", "give more of the id")


def _name(question: Permission | Settled | None) -> str:
    return question.id if question is not None else ""


def _again(over: Settled, option: str, by: str) -> str:
    """The answer that was given, if it is the very one that is given again."""
    if over.how == "expired":
        raise NoSuchQuestion(
            f"question {over.id} is closed: the turn it belonged to has ended", _LIST, code="question_expired"
        )
    if over.by == by and over.option is not None and asking.is_same_answer(over, option):
        return over.option
    raise AnsweredAlready(
        f"question {over.id} was answered already: {over.option or 'refused'}, by {over.by}",
        _LIST,
        details={"question": over.id, "option": over.option, "by": over.by, "answered_at": over.at},
    )
