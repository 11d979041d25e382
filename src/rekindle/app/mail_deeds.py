"""What a host does for those who ask on other hosts: the same use cases as for its own clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never, get_args

import msgspec

from rekindle.app.holding import Holding
from rekindle.app.questions import Questions
from rekindle.app.queueing import Queueing
from rekindle.app.requests import ResumeRequest
from rekindle.app.service import Ending, Service
from rekindle.app.session_view import BroughtBack, more
from rekindle.core.mail import MailKind
from rekindle.ports.errors import UsageError
from rekindle.ports.mail import Mail


class _Body(msgspec.Struct, frozen=True, kw_only=True):
    """What a message may say; each kind has some of it."""

    text: str = ""
    prompt_id: str = ""
    question: str = ""
    option: str = ""
    by_agent: bool = False
    to: Ending = "cancelled"
    prompt: str = ""
    request: dict[str, Any] = {}


class MailDeeds:
    """Raises RekindleError. `environment` is what agents get that are started here: the sender's is not copied."""

    def __init__(
        self,
        service: Service,
        queueing: Queueing,
        questions: Questions,
        holding: Holding,
        environment: Mapping[str, str],
    ) -> None:
        self._service = service
        self._queueing = queueing
        self._questions = questions
        self._holding = holding
        self._environment = dict(environment)

    async def accept(self, mail: Mail) -> None:
        """Record a prompt in its session's queue, so that those that were sent after it come after it."""
        said = _read(mail)
        if mail.kind == "send":
            await self._queueing.add(mail.session, said.text, said.prompt_id)

    async def carry_out(self, mail: Mail) -> msgspec.Struct:
        """Do what a message asks for. A prompt that was accepted is not queued again."""
        if mail.kind not in get_args(MailKind):
            raise UsageError(f"this version knows no message {mail.kind!r}", "use the same version on every host")
        said, session, by = _read(mail), mail.session, mail.by
        match mail.kind:
            case "send":
                return await self._service.send(session, said.text, said.prompt_id)
            case "answer":
                return await self._questions.answer(
                    said.question, said.option, by=by, text=said.text, env=self._environment, by_agent=said.by_agent
                )
            case "hold":
                return await self._holding.hold(session, by=by)
            case "hurry":
                return await self._holding.hurry(session, by=by)
            case "stop":
                return await self._service.stop(session, to=said.to, by=by)
            case "cancel":
                return await self._cancel(session, said.prompt)
            case "resume":
                return await self._service.resume(self._request(said, session, by))
            case never:
                assert_never(never)

    async def as_it_is(self, mail: Mail) -> msgspec.Struct:
        """The answer to a message that was carried out before this daemon began."""
        view = self._service.shown(await self._service.find(mail.session))
        return more(BroughtBack, view, by_itself=False) if mail.kind == "resume" else view

    async def _cancel(self, session: str, prompt: str) -> msgspec.Struct:
        found = await self._service.find(session)
        turn = found.turn
        if turn is None or turn.id != prompt:
            raise UsageError(f"the turn of session {session} that was to be cancelled is over", "see `rekindle ps`")
        return await self._service.cancel(session)

    def _request(self, said: _Body, session: str, by: str) -> ResumeRequest:
        given = {**said.request, "session": session, "by": by}
        given["env"] = self._environment if given.get("agent") else None
        try:
            return msgspec.convert(given, ResumeRequest)
        except msgspec.ValidationError as error:
            raise _unreadable(error) from error


def body_of_resume(asked: ResumeRequest) -> dict[str, Any]:
    """A request to resume a session as a message says it: without the environment of who asks."""
    told: dict[str, Any] = msgspec.to_builtins(asked)
    return {"request": {name: value for name, value in told.items() if name not in ("session", "by", "env")}}


def _read(mail: Mail) -> _Body:
    try:
        return msgspec.json.decode(mail.body, type=_Body)
    except msgspec.DecodeError as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> UsageError:
    return UsageError(f"the message cannot be read: {error}", "use the same version on every host")
