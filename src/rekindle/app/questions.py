"""Questions in the daemon: which are open, and their answers. An answer names the question, never a session."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.app.feature_inbox import FeatureInbox
from rekindle.app.governance import Governance
from rekindle.app.skill_inbox import SkillInbox
from rekindle.core.governor import asking as governor
from rekindle.core.governor.state import GovernorQuestion, GovernorSettled
from rekindle.core.session import asking
from rekindle.core.session import facts as f
from rekindle.core.session.asking import Found
from rekindle.core.session.state import Escalation, Permission, Session, Settled
from rekindle.ports.ancestry import refusal
from rekindle.ports.errors import AnsweredAlready, NoSuchQuestion, UsageError
from rekindle.runtime.supervisor import Supervisor

_LIST = "`rekindle inbox` lists the open questions"


class OpenQuestions(msgspec.Struct, frozen=True):
    """The open questions of agents, oldest first; see `rekindle.core.session.asking.shown`."""

    questions: list[dict[str, Any]]


class AnsweredQuestion(msgspec.Struct, frozen=True):
    """The option that counts. `told`: what the option shows; the question is still open then."""

    question: str
    session: str | None
    option: str
    told: list[str] = []


class Questions:
    """What agents ask people. Raises RekindleError."""

    def __init__(
        self, supervisor: Supervisor, features: FeatureInbox | None = None, skills: SkillInbox | None = None
    ) -> None:
        self._features = features
        self._skills = skills
        self._supervisor = supervisor
        self._engine = supervisor.engine
        self._governance = Governance(supervisor)

    async def open(self, session: str | None = None) -> OpenQuestions:
        """All open questions, oldest first; of one session, if it is named by its whole id."""
        every = await self._engine.all_sessions() if session is None else await self._only(session)
        found = [asking.shown(one, question) for one in every for question in asking.all_open(one)]
        if session is None:
            ours = await self._governance.questions()
            found += [governor.shown(one) for one in ours if isinstance(one, GovernorQuestion)]
        if session is None and self._features is not None:
            found += [one.document for one in await self._features.questions()]
        if session is None and self._skills is not None:
            found += [one.document for one in await self._skills.questions()]
        return OpenQuestions(sorted(found, key=lambda one: one["asked_at"]))

    async def answer(
        self,
        question: str,
        option: str,
        *,
        by: str,
        text: str = "",
        env: dict[str, str] | None = None,
        by_agent: bool = False,
    ) -> AnsweredQuestion:
        """Answer a question once. Repeating the same answer from the same client is harmless.

        `text` goes to the agent with the answer if rekindle itself asked the question. `env` is what the agents of a
        feature get that continues. `by_agent`: an agent's own command, although rekindle does not run that agent.
        """
        if (ours := await self._of_all(question)) is not None:
            return await self._answer_for_all(ours, option, by=by, text=text)
        skills, features = self._skills, self._features
        if skills is not None and (name := await self._of_skill(skills, question)) is not None:
            if by_agent:
                raise refusal("answer what a skill session asks", "ask the person to run it in their own terminal")
            return AnsweredQuestion(name, None, await skills.answer(name, option, by=by, text=text))
        if features is not None and (name := await self._of_feature(features, question)) is not None:
            return AnsweredQuestion(name, None, await features.answer(name, option, by=by, text=text, env=env))
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
        await self._supervisor.record(found.session, self._answered(found.open, chosen, by, text))
        return await self._settled(found.open.id, found.session, chosen, by)

    async def _of_all(self, given: str) -> GovernorQuestion | GovernorSettled | None:
        """The question about all sessions that an id means; None: it means none, or one of a session too."""
        found = [one for one in await self._governance.questions() if one.id.startswith(given) and given != asking.MARK]
        exact = next((one for one in found if one.id == given), None)
        if exact is not None or not found:
            return exact
        return found[0] if len(found) == 1 and not asking.meant(await self._engine.all_sessions(), given) else None

    async def _answer_for_all(
        self, question: GovernorQuestion | GovernorSettled, option: str, *, by: str, text: str
    ) -> AnsweredQuestion:
        if text:
            raise UsageError(f"question {question.id} is about all sessions, and takes no text", "leave --text out")
        if isinstance(question, GovernorQuestion):
            chosen = next((one[0] for one in question.options if option in (one[0], one[2])), None)
            if chosen is None:
                raise NoSuchQuestion(
                    f"{option!r} is not an option of question {question.id}",
                    f"choose one of: {', '.join(one[0] for one in question.options)}",
                    code="no_such_option",
                    details={"question": governor.shown(question)},
                )
            if chosen == governor.DETAILS:
                return AnsweredQuestion(question.id, "", chosen, await self._governance.details(question))
            option, question = chosen, await self._governance.answer(question.id, chosen, by)
        assert isinstance(question, GovernorSettled)
        over = Settled(question.id, question.title, question.how, question.at, question.option, question.by)
        return AnsweredQuestion(question.id, "", _again(over, option, by))

    async def _of_feature(self, features: FeatureInbox, given: str) -> str | None:
        """The question of a feature that this names; None: it names none, several, or one of a session too."""
        found = features.meant(given) if given.startswith(asking.MARK) and given != asking.MARK else []
        if given in found:
            return given
        if len(found) != 1 or asking.meant(await self._engine.all_sessions(), given):
            return None
        return found[0]

    async def _of_skill(self, skills: SkillInbox, given: str) -> str | None:
        """The question of a skill session that this names; None: it names none, several, or one of a session too."""
        found = await skills.meant(given) if given.startswith(asking.MARK) and given != asking.MARK else []
        if given in found:
            return given
        if len(found) != 1 or asking.meant(await self._engine.all_sessions(), given):
            return None
        return found[0]

    async def _only(self, session: str) -> list[Session]:
        return [await self._engine.load(session)] if await self._engine.knows(session) else []

    def _answered(self, question: Permission | Escalation, option: str, by: str, text: str) -> f.QuestionFact:
        now = self._engine.clock()
        if isinstance(question, Escalation):
            if text and option not in asking.TELLING:
                raise UsageError(
                    f"{option!r} tells the agent nothing, so that --text would be lost", "leave --text out"
                )
            return f.EscalationAnswered(at=now, question=question.id, option=option, by=by, text=text)
        if text:
            raise UsageError(
                f"question {question.id} is the agent's own, and takes no text",
                "answer it without --text, then send a prompt with `rekindle send`",
            )
        return f.PermissionAnswered(at=now, request=question.request, option=option, by=by)

    async def _settled(self, question: str, session: str, chosen: str, by: str) -> AnsweredQuestion:
        """The answer that counts: somebody else may have been faster."""
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


def _name(question: Permission | Escalation | Settled | None) -> str:
    return question.id if question is not None else ""


def _again(over: Settled, option: str, by: str) -> str:
    """The earlier answer, if this is exactly the same one again."""
    if over.how == "expired":
        raise NoSuchQuestion(
            f"question {over.id} is closed: what it was about has changed", _LIST, code="question_expired"
        )
    if over.by == by and over.option is not None and asking.is_same_answer(over, option):
        return over.option
    raise AnsweredAlready(
        f"question {over.id} was already answered: {over.option or 'refused'}, by {over.by}",
        _LIST,
        details={"question": over.id, "option": over.option, "by": over.by, "answered_at": over.at},
    )
