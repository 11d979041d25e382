"""Sessions as a page asks about them: those of this host. In a fleet `FleetSessions` does the same for those of all.

A page does not wait as a command line does: a resume goes on behind it, and a prompt is queued, not waited for.
"""

from __future__ import annotations

from typing import Protocol

from rekindle.app.conversing import ConversationPages, EntryPage
from rekindle.app.holding import Holding
from rekindle.app.opening import SessionOpened, SessionOpening
from rekindle.app.questions import AnsweredQuestion, OpenQuestions, Questions
from rekindle.app.queueing import AcceptedPrompt, PromptQueue, Queueing
from rekindle.app.service import Ending, ListedSessions, Service
from rekindle.app.session_view import SessionView, WholeSession
from rekindle.core.session.state import Session


class SessionsAnywhere(Protocol):
    """Sessions by id, or by the beginning of one. Everything raises RekindleError."""

    async def listed(self) -> ListedSessions:
        """All of them in short, oldest first."""
        ...

    async def elsewhere(self) -> dict[str, int]:
        """How many sessions each other host has."""
        ...

    async def shown(self, session: str) -> WholeSession:
        """One with everything."""
        ...

    async def here(self, session: str, what: str) -> Session:
        """One of this host. `what` can be done on its own host only. Raises PlacedElsewhere."""
        ...

    async def conversation(self, session: str, start: int, limit: int) -> tuple[str, EntryPage]:
        """Its id, and entries of its conversation."""
        ...

    async def questions(self) -> OpenQuestions:
        """What is asked, oldest first."""
        ...

    async def answer(self, question: str, option: str, *, by: str, text: str, env: dict[str, str]) -> AnsweredQuestion:
        """Answer a question once."""
        ...

    async def prompt(self, session: str, text: str, prompt_id: str) -> AcceptedPrompt:
        """Record a prompt, which is sent once."""
        ...

    async def queue(self, session: str) -> PromptQueue:
        """The prompts that are not sent yet."""
        ...

    async def open(self, session: str, *, by: str) -> SessionOpened:
        """Somebody looks at it."""
        ...

    async def resume(self, session: str, *, by: str, kill: bool = False, wait: bool = False) -> SessionOpened:
        """Bring its agent back."""
        ...

    async def stop(self, session: str, *, to: Ending, by: str) -> SessionView:
        """End its agent and the whole tree."""
        ...

    async def cancel(self, session: str) -> SessionView:
        """End the turn that is running."""
        ...

    async def hold(self, session: str, *, by: str) -> SessionView:
        """Do nothing automatically about it."""
        ...

    async def hurry(self, session: str, *, by: str) -> SessionView:
        """Let it go on now."""
        ...


class OwnSessions:
    """See `SessionsAnywhere`: those of this host."""

    def __init__(
        self, service: Service, queueing: Queueing, questions: Questions, holding: Holding, pages: ConversationPages
    ) -> None:
        self._service = service
        self._queueing = queueing
        self._questions = questions
        self._opening = SessionOpening(service)
        self._pages = pages
        self.hold = holding.hold
        self.hurry = holding.hurry
        self.prompt = queueing.add
        self.queue = queueing.shown
        self.listed = service.list_sessions
        self.shown = service.show
        self.stop = service.stop
        self.cancel = service.cancel
        self.open = self._opening.open
        self.resume = self._opening.resume

    async def elsewhere(self) -> dict[str, int]:
        """There are no other hosts."""
        return {}

    async def here(self, session: str, what: str) -> Session:
        """A session. All are here."""
        return await self._service.find(session)

    async def conversation(self, session: str, start: int, limit: int) -> tuple[str, EntryPage]:
        """From its folder, with what was said a moment ago."""
        found = await self._service.find(session)
        return found.id, await self._pages.page(found.id, start, limit)

    async def questions(self) -> OpenQuestions:
        """Of sessions, features, skill sessions, and of the machine."""
        return await self._questions.open()

    async def answer(self, question: str, option: str, *, by: str, text: str, env: dict[str, str]) -> AnsweredQuestion:
        """Answer a question once; see `Questions.answer`."""
        return await self._questions.answer(question, option, by=by, text=text, env=env)
