"""The sessions of all hosts as a page asks about them. This host's own: as on one machine, and live.

Another host's are what the shared store and the copies have. What is asked of one goes through the mailbox that the
command line uses, and is waited for, so that the page can say what came of it. Nothing is started by a look.
"""

from __future__ import annotations

from rekindle.app.anywhere import OwnSessions
from rekindle.app.conversing import ConversationPages, EntryPage
from rekindle.app.fleet_doors import FleetDoors
from rekindle.app.opening import SessionOpened
from rekindle.app.questions import AnsweredQuestion, OpenQuestions
from rekindle.app.queueing import AcceptedPrompt, PromptQueue
from rekindle.app.requests import ResumeRequest
from rekindle.app.service import Ending, ListedSessions
from rekindle.app.session_view import SessionView, WholeSession, brief
from rekindle.core.session.state import Prompt, Session
from rekindle.ports.placements import on_its_host


class FleetSessions:
    """See `rekindle.app.anywhere.SessionsAnywhere`. `copied` reads what was copied off other hosts."""

    def __init__(self, own: OwnSessions, doors: FleetDoors, copied: ConversationPages) -> None:
        self._own = own
        self._doors = doors
        self._copied = copied

    async def listed(self) -> ListedSessions:
        """Those of all hosts."""
        return await self._doors.list_()

    async def elsewhere(self) -> dict[str, int]:
        """How many sessions each other host has."""
        return await self._doors.others()

    async def shown(self, session: str) -> WholeSession:
        """One, wherever it is."""
        return await self._doors.show(session)

    async def here(self, session: str, what: str) -> Session:
        """One of this host."""
        placed = await self._doors.away(session)
        if placed is not None:
            raise on_its_host(placed.session.id, placed.host, what)
        return await self._own.here(session, what)

    async def conversation(self, session: str, start: int, limit: int) -> tuple[str, EntryPage]:
        """Its own, or what was copied of it."""
        placed = await self._doors.away(session)
        if placed is None:
            return await self._own.conversation(session, start, limit)
        return placed.session.id, await self._copied.page(placed.session.id, start, limit)

    async def questions(self) -> OpenQuestions:
        """What the agents of all hosts ask."""
        return await self._doors.questions()

    async def answer(self, question: str, option: str, *, by: str, text: str, env: dict[str, str]) -> AnsweredQuestion:
        """Answer a question of any host."""
        return await self._doors.answer(question, option, by=by, text=text, env=env)

    async def prompt(self, session: str, text: str, prompt_id: str) -> AcceptedPrompt:
        """Record a prompt. If its session's host has not said what came of it, `mail` says so."""
        placed = await self._doors.away(session)
        if placed is None:
            return await self._own.prompt(session, text, prompt_id)
        sent = await self._doors.send(placed.session.id, text, prompt_id)
        now = await self._doors.show(sent.id)
        known = next((one for one in now.session.prompts if one.id == prompt_id), None)
        return AcceptedPrompt(known or Prompt(prompt_id, text, now.changed_at), brief(now), sent.mail)

    async def queue(self, session: str) -> PromptQueue:
        """What waits to be sent, wherever it is."""
        return await self._doors.queue(session)

    async def open(self, session: str, *, by: str) -> SessionOpened:
        """A look at a session of another host starts nothing there."""
        placed = await self._doors.away(session)
        if placed is None:
            return await self._own.open(session, by=by)
        view = brief(await self._doors.show(placed.session.id))
        return SessionOpened("nothing", f"it is on host {placed.host}, and a look from here starts nothing there", view)

    async def resume(self, session: str, *, by: str, kill: bool = False, wait: bool = False) -> SessionOpened:
        """Bring its agent back where it is. On another host: waits for what that host says."""
        placed = await self._doors.away(session)
        if placed is None:
            return await self._own.resume(session, by=by, kill=kill, wait=wait)
        view = await self._doors.resume(ResumeRequest(session=placed.session.id, by=by, kill=kill))
        return SessionOpened("resuming", "", brief(view))

    async def stop(self, session: str, *, to: Ending, by: str) -> SessionView:
        """End its agent, wherever it is."""
        return await self._doors.stop(session, to=to, by=by)

    async def cancel(self, session: str) -> SessionView:
        """End the turn that is running, wherever it is."""
        return await self._doors.cancel(session)

    async def hold(self, session: str, *, by: str) -> SessionView:
        """Do nothing automatically about it, wherever it is."""
        return await self._doors.hold(session, by=by)

    async def hurry(self, session: str, *, by: str) -> SessionView:
        """Let it go on now, wherever it is."""
        return await self._doors.hurry(session, by=by)
