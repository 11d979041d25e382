"""Repositories that were moved: their sessions learn where they are now, before anything is done there."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

import msgspec

from rekindle import files
from rekindle.core.identity import carried
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError
from rekindle.ports.identity import KnownRepository, RepositoryIdentities
from rekindle.ports.records import MovedRecords
from rekindle.ports.workplace import SessionPlaces
from rekindle.ports.workspace import Checkout, Workspace
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)


class SeenRepository(msgspec.Struct, frozen=True):
    """What a repository is known by, and the sessions that have moved with it."""

    repository: str
    moved: list[str]


class Relocations:
    """Knows repositories again. `find` gives the repository around a folder."""

    def __init__(
        self,
        supervisor: Supervisor,
        open_here: Callable[[str], Workspace],
        find: Callable[[str], Checkout | None],
        identities: RepositoryIdentities,
        records: MovedRecords,
        places: SessionPlaces,
    ) -> None:
        self._supervisor = supervisor
        self._open_here = open_here
        self._find = find
        self._identities = identities
        self._records = records
        self._places = places

    async def seen(self, *, cwd: str) -> SeenRepository:
        """Somebody works in this folder: sessions of its repository that believe it elsewhere are told."""
        return SeenRepository(*await self.arrive(self._open_here(cwd)))

    async def arrive(self, here: Workspace) -> tuple[str, list[str]]:
        """The repository's id, and the sessions that have moved with it. What is cut short is done by the next one.

        Raises OwnedError where it has moved and somebody is at work in it: nothing is changed under their hands.
        """
        repo = here.repository
        found = await asyncio.to_thread(self._identities.find, repo)
        if found is None or found.verdict == "copy":
            return await asyncio.to_thread(self._identities.ensure, repo, await self._remembered(here)), []
        if found.verdict == "moved":
            self._refuse_in_use(here, found)
        await asyncio.to_thread(self._identities.put_right, repo, found, here.state_dir, here.progress)
        moved = []
        for session in await self._supervisor.engine.all_sessions():
            if session.repository_id == found.id and session.repository not in (None, repo.root):
                await self._follow(session, repo.root)
                moved.append(session.id)
        try:
            await asyncio.to_thread(self._identities.settle, repo, found)
        except OSError as error:
            log.warning("%s: where it is cannot be written down (%s)", repo.root, error.strerror)
        return found.id, moved

    async def known_as(self, root: str | None) -> str | None:
        """The id of the repository that a new session begins in; None outside of any."""
        repo = self._find(root) if root is not None else None
        if root is None or repo is None:
            return None
        remembered = await self._remembered(self._open_here(root)) if self._identities.find(repo) is None else None
        return await asyncio.to_thread(self._identities.ensure, repo, remembered)

    async def _remembered(self, here: Workspace) -> str | None:
        """What sessions know a repository by that has no id (any more).

        Another repository may stand in its place by now: a session counts if its worktree or its journal is there.
        """
        root = here.repository.root
        everyone = await self._supervisor.engine.all_sessions()
        ours = [one for one in everyone if one.repository == root and one.repository_id]
        known = [one for one in ours if self._has_traces(here, one)]
        return max(known, key=lambda one: (one.is_up, one.created_at)).repository_id if known else None

    def _refuse_in_use(self, here: Workspace, found: KnownRepository) -> None:
        """The links of worktrees are changed only where no agent and no run needs them.

        A container, say, has the same repository under another path, and the host's agents go on meanwhile.
        """
        told = f"{found.before} is {here.repository.root} now, but its worktrees are not linked again"
        for session in self._supervisor.engine.at_hand():
            if session.repository_id == found.id and session.is_up:
                hint = f"wait until it has finished, or end it: rekindle stop {session.id} --sleep"
                raise OwnedError(f"{told}: the agent of session {session.id} works in it", hint)
        for run in here.held():
            owner = run.owner
            if owner.verdict == "alive":
                hint = "wait until it has ended, or end it with `rekindle stop`"
                raise OwnedError(f"{told}: pid {owner.pid} holds run {owner.sid} of {run.feature}", hint)
            hint = f"work where it is held; if that host or container is gone for good, remove {run.record}"
            held = f"run {owner.sid} of {run.feature} is held elsewhere, which alone can tell"
            raise OwnedError(f"{told}: {held}", hint)

    def _has_traces(self, here: Workspace, session: Session) -> bool:
        if session.worktree is not None and self._identities.holds(here.repository, session.worktree):
            return True
        name = session.feature
        return name is not None and os.path.isfile(os.path.join(here.progress, name, files.EVENTS))

    async def _follow(self, session: Session, root: str) -> None:
        before = session.repository or root
        cwd = carried(session.cwd, before, root)
        told = await asyncio.to_thread(self._records.carry_records, session, cwd, self._places.environment(session))
        worktree = carried(session.worktree, before, root) if session.worktree is not None else None
        at = self._supervisor.engine.clock()
        facts = [f.Noticed(at=at, message=one) for one in told]
        moved = f.Relocated(at=at, repository=root, cwd=cwd, worktree=worktree)
        now = await self._supervisor.record(session.id, moved, *facts)
        await asyncio.to_thread(self._places.note_place, now)
