"""What a host of a fleet can be asked about any session, wherever that is: its own at once, others through the mailbox.

The operations have the names and the parameters that they have on one machine, so that no client has to know.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from rekindle.app.elsewhere import Elsewhere
from rekindle.app.mail_deeds import body_of_resume
from rekindle.app.mail_sending import MailSending, MailWaits
from rekindle.app.questions import AnsweredQuestion, OpenQuestions, Questions
from rekindle.app.queueing import PromptQueue
from rekindle.app.requests import ResumeRequest
from rekindle.app.service import Ending, ListedSessions, Service
from rekindle.app.session_view import BroughtBack, MailSlip, SentPrompt, SessionView, WaitedFor, WholeSession, more
from rekindle.core.mail import MailKind
from rekindle.core.session import asking
from rekindle.core.session.activity import rests
from rekindle.core.session.starting import has_stalled
from rekindle.ports.errors import NoSuchQuestion, RekindleError, UsageError
from rekindle.ports.placements import Placement, on_its_host
from rekindle.runtime.engine import Engine

Answer = TypeVar("Answer", bound=msgspec.Struct)
View = TypeVar("View", bound=SessionView)
Operation = Callable[..., Awaitable[msgspec.Struct]]
#: What changes the prompts that wait.
_QUEUE_CHANGES = ("queue_edit", "queue_withdraw", "queue_reorder")
#: How often a session of another host is looked at while somebody waits for it.
_LOOK_SECONDS = 0.5
#: How long to wait for a copy of what was said last.
_COPIED_SECONDS = 10.0


class FleetDoors:
    """Raises RekindleError."""

    def __init__(
        self, service: Service, questions: Questions, engine: Engine, elsewhere: Elsewhere, sending: MailSending
    ) -> None:
        self._service = service
        self._questions = questions
        self._engine = engine
        self._elsewhere = elsewhere
        self._sending = sending

    def put_in(self, offered: dict[str, Operation]) -> None:
        """Have these operations reach every session of the fleet."""
        self._local = {name: offered[name] for name in ("hold", "hurry", "queue")}
        offered |= {
            "send": self.send,
            "answer": self.answer,
            "resume": self.resume,
            "hold": self.hold,
            "hurry": self.hurry,
            "stop": self.stop,
            "cancel": self.cancel,
            "list": self.list_,
            "show": self.show,
            "wait": self.wait,
            "questions": self.questions,
            "queue": self.queue,
            **{name: self._only_here(name, offered[name]) for name in _QUEUE_CHANGES},
        }

    async def send(self, session: str, text: str, prompt_id: str) -> SentPrompt:
        """Queue a prompt; see `Service.send`."""
        placed = await self.away(session)
        if placed is None:
            return self._here(await self._service.send(session, text, prompt_id))
        if not text.strip():
            raise UsageError("there is nothing to send", "give some text")
        body = {"text": text, "prompt_id": prompt_id}
        name = f"prompt:{placed.session.id}:{prompt_id}"
        try:
            told = await self._sending.ask("send", "prompt", placed.session.id, placed.host, body, name=name)
        except MailWaits as waits:
            taken = waits.mail.taken_by is not None
            slip = MailSlip(waits.mail.id, placed.host, taken, f"{waits.message}; {waits.hint}")
            view = await self._elsewhere.one_shown(placed)
            known = {"prompt": prompt_id, "delivered": False, "woken": False, "stopped_keeper": None}
            return more(SentPrompt, view, mail=slip, **known)
        return self._at(placed, _typed(told, SentPrompt))

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
        """Answer a question once; see `Questions.answer`. Of several hosts that answer, the first counts."""
        try:
            return await self._questions.answer(question, option, by=by, text=text, env=env, by_agent=by_agent)
        except NoSuchQuestion as error:
            if error.code != NoSuchQuestion.code:
                raise
            placed, name = await self._asking(question, error)
        body = {"question": name, "option": option, "text": text, "by_agent": by_agent}
        told = await self._sending.ask("answer", f"answer to {name}", placed.session.id, placed.host, body, by=by)
        return _typed(told, AnsweredQuestion)

    async def resume(self, asked: ResumeRequest) -> BroughtBack:
        """Bring an agent back, where its session is; see `Service.resume`."""
        placed = await self.away(asked.session)
        if placed is None:
            return self._here(await self._service.resume(asked))
        return await self._asked("resume", placed, body_of_resume(asked), BroughtBack, by=asked.by)

    async def hold(self, session: str, *, by: str) -> SessionView:
        """Do nothing automatically about a session; see `Holding.hold`."""
        return await self._hold_or_hurry("hold", session, by)

    async def hurry(self, session: str, *, by: str) -> SessionView:
        """Let a session that waits go on now; see `Holding.hurry`."""
        return await self._hold_or_hurry("hurry", session, by)

    async def stop(self, session: str, *, to: Ending, by: str) -> SessionView:
        """End a session's agent and its whole tree."""
        placed = await self.away(session)
        if placed is None:
            return self._here(await self._service.stop(session, to=to, by=by))
        return await self._asked("stop", placed, {"to": to}, SessionView, by=by)

    async def cancel(self, session: str) -> SessionView:
        """End the turn that is running, and nothing else."""
        placed = await self.away(session)
        if placed is None:
            return self._here(await self._service.cancel(session))
        turn = placed.session.turn
        if turn is None or not placed.session.is_up:
            raise UsageError(f"session {placed.session.id} has no turn running", "see `rekindle ps`")
        return await self._asked("cancel", placed, {"prompt": turn.id}, SessionView)

    async def others(self) -> dict[str, int]:
        """How many sessions each other host has."""
        return await self._elsewhere.counts()

    async def list_(self) -> ListedSessions:
        """The sessions of all hosts in short, oldest first."""
        here = await self._service.list_sessions()
        away, silences = await self._elsewhere.everything(), await self._elsewhere.silences()
        own = {one.id for one in here.sessions}
        found = [self._here(one) for one in here.sessions]
        found += [self._elsewhere.shown(one, silences) for one in away if one.session.id not in own]
        ordered = sorted(found, key=lambda one: (one.created_at, one.id))
        return ListedSessions(ordered, here.governor, self._elsewhere.host)

    async def show(self, session: str) -> WholeSession:
        """One session with everything."""
        placed = await self.away(session)
        if placed is None:
            return self._here(await self._service.show(session))
        view, away = await self._elsewhere.told(placed)
        return more(WholeSession, view, session=placed.session, away=away)

    async def queue(self, session: str) -> PromptQueue:
        """The prompts of a session that are not sent yet, in order, wherever it is."""
        placed = await self.away(session)
        if placed is None:
            found = await self._local["queue"](session)
            assert isinstance(found, PromptQueue)
            return found
        return PromptQueue(placed.session.id, placed.session.queued)

    def _only_here(self, name: str, own: Operation) -> Operation:
        """An operation that is not carried to other hosts: it is refused there, with the way."""

        @functools.wraps(own)  # what it may be asked with is read from it
        async def asked(session: str, **values: Any) -> msgspec.Struct:
            placed = await self.away(session)
            if placed is not None:
                raise on_its_host(placed.session.id, placed.host, "its queue is changed there")
            return await own(session, **values)

        return asked

    async def wait(self, session: str, seconds: float) -> WaitedFor:
        """Return when the session is at rest, as far as its host has told; see `Service.wait`."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (placed := await self.away(session)) is not None:
            now = placed.session
            rested = (rests(now) or has_stalled(now, self._engine.clock())) and self._can_be_read(placed)
            left = deadline - asyncio.get_running_loop().time()
            if rested or left <= 0:
                return more(WaitedFor, await self._elsewhere.one_shown(placed), rested=rested)
            await asyncio.sleep(min(left, _LOOK_SECONDS))
        left = max(0.0, deadline - asyncio.get_running_loop().time())
        return self._here(await self._service.wait(session, left))

    async def questions(self, session: str | None = None) -> OpenQuestions:
        """The open questions of all hosts' agents, oldest first."""
        found = [{**one, "host": self._elsewhere.host} for one in (await self._questions.open(session)).questions]
        known = {one["id"] for one in found}
        for placed in await self._elsewhere.everything():
            if session in (None, placed.session.id):
                asked = [asking.shown(placed.session, one) for one in asking.all_open(placed.session)]
                found += [{**one, "host": placed.host} for one in asked if one["id"] not in known]
        return OpenQuestions(sorted(found, key=lambda one: one["asked_at"]))

    async def _hold_or_hurry(self, kind: MailKind, session: str, by: str) -> SessionView:
        placed = await self.away(session)
        if placed is None:
            view = await self._local[kind](session, by=by)
            assert isinstance(view, SessionView)
            return self._here(view)
        return await self._asked(kind, placed, {}, SessionView, by=by)

    async def _asked(
        self, kind: MailKind, placed: Placement, body: dict[str, Any], answer: type[Answer], *, by: str = ""
    ) -> Answer:
        told = await self._sending.ask(kind, f"request to {kind} it", placed.session.id, placed.host, body, by=by)
        return self._at(placed, _typed(told, answer))

    async def away(self, session: str) -> Placement | None:
        """The session that is meant, if another host has it; None: it is here, or nowhere."""
        if self._engine.in_memory(session) is not None:
            return None
        name = await self._elsewhere.named(session)
        if name is None or await self._engine.knows(name):
            return None
        return await self._elsewhere.find(name)

    async def _asking(self, given: str, otherwise: NoSuchQuestion) -> tuple[Placement, str]:
        """The session of another host that asks this question, or asked it, and the question's id."""
        away = {one.session.id: one for one in await self._elsewhere.everything()}
        found = asking.meant([one.session for one in away.values()], given)
        if len(found) != 1:
            raise otherwise
        one = found[0].open or found[0].over
        assert one is not None
        return away[found[0].session], one.id

    def _can_be_read(self, placed: Placement) -> bool:
        """Whether the last words of a session at rest were copied: whoever waited wants to read them.

        Copies may be out of reach, so nobody waits for them for long.
        """
        changed = placed.session.changed_at
        return (placed.copied_at or 0.0) >= changed or self._engine.clock() - changed > _COPIED_SECONDS

    def _here(self, view: View) -> View:
        return replace(view, host=self._elsewhere.host)

    def _at(self, placed: Placement, answer: Answer) -> Answer:
        """The answer of the host that had it when it was asked, unless it says itself where the session is."""
        if isinstance(answer, SessionView) and answer.host is msgspec.UNSET:
            return replace(answer, host=placed.host)
        return answer


def _typed(told: dict[str, Any], answer: type[Answer]) -> Answer:
    """An answer from another host. It may run another version."""
    try:
        return msgspec.convert(told, answer)
    except msgspec.ValidationError as error:
        raise RekindleError(
            f"it was carried out, but the other host's answer cannot be read: {error}",
            "use the same version on every host",
        ) from error
