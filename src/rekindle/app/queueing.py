"""Prompts that are not sent yet: added, changed, put in another order, withdrawn. Each of them is sent once, or never.

What is decided here comes before a prompt is sent or after, never in between: then it is refused.
"""

from __future__ import annotations

import msgspec

from rekindle.agents.base.terminal import typeable
from rekindle.app.sending import sent_to
from rekindle.app.service import Service, prompt_of
from rekindle.app.session_view import MailSlip, SessionView
from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS, Prompt, Session
from rekindle.ports.errors import OwnedError, UsageError
from rekindle.runtime.supervisor import Supervisor


class AcceptedPrompt(msgspec.Struct, frozen=True):
    """A prompt that is on disk and will be sent once. `view` is the session as it is now.

    `mail` is there only if the session is on another host, and what came of the prompt there is not known yet.
    """

    prompt: Prompt
    view: SessionView
    mail: MailSlip | msgspec.UnsetType = msgspec.UNSET


class PromptQueue(msgspec.Struct, frozen=True):
    """The prompts of a session that are not sent yet, in order."""

    session: str
    prompts: list[Prompt]


class Queueing:
    """Raises RekindleError."""

    def __init__(self, service: Service, supervisor: Supervisor) -> None:
        self._service = service
        self._supervisor = supervisor
        self._clock = supervisor.engine.clock

    async def shown(self, session: str) -> PromptQueue:
        """What waits to be sent."""
        return _queue(await self._service.find(session))

    async def add(self, session: str, text: str, prompt_id: str) -> AcceptedPrompt:
        """Queue a prompt and do not wait until it is sent; a session without an agent gets one."""
        found = await self._service.find(session)
        text = typeable(text) if found.terminal else text
        if not text.strip():
            raise UsageError("there is nothing to send", "give some text")
        prompt = prompt_of(text, prompt_id, self._clock())
        now = await self._supervisor.decide(found.id, lambda state: sent_to(state, prompt))
        return AcceptedPrompt(next(one for one in now.prompts if one.id == prompt_id), self._service.shown(now))

    async def edit(self, session: str, prompt: str, text: str, *, by: str) -> PromptQueue:
        """Change the text of a prompt."""
        found = await self._service.find(session)
        text = typeable(text) if found.terminal else text
        if not text.strip():
            raise UsageError("there is nothing to send", "withdraw the prompt instead")

        def edited(now: Session) -> list[f.AnyFact]:
            _refuse_sent(now, prompt)
            return [f.PromptEdited(at=self._clock(), prompt=prompt, text=text, by=by)]

        return _queue(await self._supervisor.decide_quietly(found.id, edited))

    async def withdraw(self, session: str, prompt: str, *, by: str) -> PromptQueue:
        """Never send a prompt. Withdrawing it again is harmless."""
        found = await self._service.find(session)

        def withdrawn(now: Session) -> list[f.AnyFact]:
            if any(one.id == prompt and one.state == "cancelled" for one in now.prompts):
                return []
            _refuse_sent(now, prompt)
            return [f.CancelAsked(at=self._clock(), prompt=prompt)]

        return _queue(await self._supervisor.decide_quietly(found.id, withdrawn))

    async def reorder(self, session: str, prompts: list[str], *, by: str) -> PromptQueue:
        """Put prompts in this order. Those that are not named keep their places."""
        found = await self._service.find(session)

        def ordered(now: Session) -> list[f.AnyFact]:
            for one in prompts:
                _refuse_sent(now, one)
            return [f.PromptsReordered(at=self._clock(), prompts=prompts, by=by)]

        return _queue(await self._supervisor.decide_quietly(found.id, ordered))


def _refuse_sent(session: Session, prompt: str) -> None:
    """Raise an error unless a prompt of a person's still waits to be sent."""
    known = next((one for one in session.prompts if one.id == prompt), None)
    if known is None or known.by == OURS:
        raise UsageError(
            f"session {session.id} has no prompt {prompt!r}",
            f"see what waits: rekindle queue {session.id}",
            code="no_such_prompt",
        )
    if known.state != "queued":
        raise OwnedError(
            f"prompt {prompt} can no longer be changed: it is {known.state}",
            f"cancel the turn instead: rekindle cancel {session.id}" if known.state in ("sent", "began") else "",
            code="prompt_sent",
        )


def _queue(session: Session) -> PromptQueue:
    return PromptQueue(session.id, session.queued)
