"""Somebody opens a session: its policy says whether its agent comes back for that.

`continue`: it runs again already, or is about to. `ask`: the conversation is loaded, and whether a cut turn goes on is
left to a click, because that costs money. `never`: it is shown, and waits.

A look decides nothing: it lifts no hold, ends no wait for a limit, and closes no question that waits for a person.
"""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec

from rekindle.app.requests import ResumeRequest
from rekindle.app.service import Service
from rekindle.app.session_view import SessionView
from rekindle.core.session.plan import is_cut
from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError, RekindleError


class SessionOpened(msgspec.Struct, frozen=True):
    """What opening a session did, and why. `view` is the session as it is now."""

    did: Literal["nothing", "resuming"]
    why: str
    view: SessionView


class SessionOpening:
    """Two people who open a session at the same time cause one resume. Raises RekindleError."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._under_way: dict[str, asyncio.Task[object]] = {}

    async def open(self, session: str, *, by: str, wait: bool = False) -> SessionOpened:
        """Do what the session's policy says about opening it. A resume goes on when whoever asked goes away."""
        found = await self._service.find(session)
        view = self._service.shown(found)
        if why := _why_not(found, view):
            return SessionOpened("nothing", why, view)
        return await self.resume(found.id, by=by, wait=wait, hold=is_cut(found) or bool(found.on_hold))

    async def resume(
        self, session: str, *, by: str, kill: bool = False, wait: bool = False, hold: bool = False
    ) -> SessionOpened:
        """Bring its agent back, whatever its policy is. Raises OwnedError if it is somebody else's."""
        found = await self._service.find(session)
        task = self._under_way.get(found.id)
        if task is None or task.done():
            asked = ResumeRequest(session=found.id, by=by, kill=kill, hold=hold)
            task = asyncio.ensure_future(self._service.resume(asked))
            self._under_way[found.id] = task
            task.add_done_callback(lambda _: self._over(found.id))
        try:
            # What is refused is refused at once; a start takes longer than this.
            async with asyncio.timeout(None if wait else 0.05):
                await asyncio.shield(task)
        except TimeoutError:
            pass
        except OwnedError:
            raise
        view = self._service.shown(await self._service.find(found.id))
        return SessionOpened("resuming", "", view)

    def _over(self, session: str) -> None:
        task = self._under_way.pop(session, None)
        if task is not None and not task.cancelled() and isinstance(task.exception(), RekindleError):
            return  # the session's own record says why it is not back


def _why_not(session: Session, view: SessionView) -> str:
    """Why opening a session starts nothing; empty if it does."""
    if view.is_running:
        return "its agent is running"
    if not view.needs_resume or not view.is_resumable:
        return view.reason or view.status
    if view.waits_until is not None:
        return "it waits for a limit, and goes on by itself"
    if session.escalation is not None and session.escalation.trigger != "dead":
        return "your answer decides how it goes on"
    if session.policy == "continue":
        return "its agent comes back by itself"
    return "its policy is never to start it without being asked" if session.policy == "never" else ""
