"""Takes over a session that another host of the fleet had, and shows which host has what.

The fence comes first: once the session is placed here, that host is refused, whatever it still does. Then everything is
put in place, and only then the session is this host's, in one commit. Who is killed in between does it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import msgspec

from rekindle.app.service import Service
from rekindle.app.session_names import NoSuchSession
from rekindle.app.session_view import SessionView
from rekindle.core.fleet.forgetting import in_order
from rekindle.core.moving import at_rest
from rekindle.core.off_host import behind
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.core.session.status import word
from rekindle.ports.errors import OwnedError, UsageError
from rekindle.ports.hosts import SILENT_SECONDS, Hosts, SeenHost
from rekindle.ports.off_host import Brought, OffHostCopies
from rekindle.ports.placements import PlacedElsewhere, Placement, Placements
from rekindle.runtime.supervisor import Supervisor
from rekindle.runtime.turns import Turns

#: Who asks for a session to come back after it was taken over.
BY = "the fleet"


class PlacedSession(msgspec.Struct, frozen=True):
    """A session of the fleet. `behind`: how many seconds of it are on its host alone; None: all of it."""

    id: str
    host: str
    since: float
    status: str
    title: str
    agent: str
    behind: float | None
    here: bool
    arriving: bool


class FleetStatus(msgspec.Struct, frozen=True):
    """All hosts, those that are silent last, and all their sessions, oldest first, as this host sees them.

    No host: there is no fleet.
    """

    host: str
    hosts: list[SeenHost]
    sessions: list[PlacedSession]


class Takeovers:
    """`environment` is what a session's agent gets on this host."""

    def __init__(
        self,
        service: Service,
        supervisor: Supervisor,
        placements: Placements,
        copies: OffHostCopies,
        hosts: Hosts,
        environment: Mapping[str, str],
        clock: Callable[[], float],
    ) -> None:
        self._service = service
        self._supervisor = supervisor
        self._placements = placements
        self._copies = copies
        self._hosts = hosts
        self._environment = environment
        self._clock = clock
        self._turns = Turns()
        self._taking: set[asyncio.Future[SessionView]] = set()

    async def status(self) -> FleetStatus:
        """Which hosts there are, which of them has which session, and how far its copy is behind."""
        hosts = await asyncio.to_thread(self._hosts.everything)
        found = await asyncio.to_thread(self._placements.everything)
        now = self._clock()
        hosts = in_order(hosts, SILENT_SECONDS)
        return FleetStatus(self._placements.host, hosts, [self._shown(one, now) for one in found])

    async def take_over(self, *, session: str, host_is_gone: bool = False) -> SessionView:
        """Continue a session here that another host had. Asking again is harmless.

        A live agent there is not seen from here. So it is done only for who knows that the host is gone: it may come
        back, and is refused then, but two agents would have worked meanwhile.
        """
        return await self.taken(session, host_is_gone=host_is_gone)

    async def taken(
        self, session: str, *, host_is_gone: bool, base: str = "", before: str | None = None
    ) -> SessionView:
        """The same. `base`: the commit that its branch begins at, if neither that nor a snapshot was copied.

        `before`: the host that is known to be gone. This process may have slept since that was known; if another host
        has taken the session meanwhile, it is that one's. Raises PlacedElsewhere.
        """
        taking = asyncio.ensure_future(self._alone(session, host_is_gone, base, before))
        self._taking.add(taking)
        taking.add_done_callback(self._done)
        return await asyncio.shield(taking)

    async def _alone(self, session: str, host_is_gone: bool, base: str, before: str | None) -> SessionView:
        """It goes on if whoever asked for it goes away: a thread that puts files in place cannot be stopped.

        A second one beside it would take its half for an earlier crash's, and each would lose what the other has put.
        """
        async with self._turns.of(session):
            found = await self._found(session)
            if before == found.host == self._placements.host and found.is_in_place:
                return self._service.shown(await self._supervisor.engine.load(session))
            if before is not None and found.host != before:
                raise PlacedElsewhere(f"session {session} is on host {found.host}, not on {before}", "look again")
            if found.host == self._placements.host and found.is_in_place:
                raise OwnedError(f"session {session} is on this host already", f"rekindle resume {session}")
            if found.host != self._placements.host and not host_is_gone:
                raise UsageError(
                    f"session {session} is on host {found.host}, which may still work on it",
                    "if that host is gone, or its agent has ended, say so with --host-is-gone",
                )
            return self._service.shown(await self._take(found, base))

    def _done(self, taking: asyncio.Future[SessionView]) -> None:
        self._taking.discard(taking)
        if not taking.cancelled():
            taking.exception()  # whoever asked may have left

    async def _found(self, session: str) -> Placement:
        found = await asyncio.to_thread(self._placements.find, session)
        if found is None:
            raise NoSuchSession(f"no session of the fleet is called {session}", "`rekindle fleet status` lists them")
        return found

    async def _take(self, found: Placement, base: str) -> Session:
        before = found.session
        taken = await asyncio.to_thread(lambda: self._placements.take(before.id, before=found.host, at=self._clock()))
        before = taken.session  # nobody else writes about it from now on
        lost = before.attempt.number if before.attempt is not None else 0
        brought = await asyncio.to_thread(
            lambda: self._copies.bring(before, lost + 1, self._environment, self._clock(), base)
        )
        where = found.host if found.host != self._placements.host else brought.state.host
        await self._supervisor.engine.arrive(before, self._facts(before, brought, lost, where))
        await self._supervisor.advance(before.id)
        return self._supervisor.engine.session(before.id)

    def _facts(self, before: Session, brought: Brought, lost: int, where: str) -> list[f.AnyFact]:
        now, was_up = self._clock(), before.is_up
        taken = f.TakenOver(
            at=now,
            generation=before.generation + 1,
            host=self._placements.host,
            before=where,
            lost=lost,
            cwd=brought.cwd,
            repository=brought.repository,
            worktree=brought.worktree,
            branch=brought.branch,
            missing=brought.missing,
        )
        ended = at_rest(before, now, brought.cut, f"its host {where} was lost")
        back = [f.ResumeAsked(at=now, by=BY)] if was_up else []
        return [*ended, taken, *back]

    def _shown(self, one: Placement, now: float) -> PlacedSession:
        session = one.session
        late = behind(one.copied_at, now, is_over=not session.is_up, changed_at=session.changed_at)
        return PlacedSession(
            id=session.id,
            host=one.host,
            since=one.since,
            status=word(session, alive=session.is_up),
            title=session.title,
            agent=session.agent,
            behind=late,
            here=one.host == self._placements.host,
            arriving=not one.is_in_place,
        )
