"""Moved repositories: their sessions learn the new place before anything is done there."""

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
    """A repository's id, and the sessions that moved with it."""

    repository: str
    moved: list[str]


class Relocations:
    """Recognises moved repositories. `find` gives the repository around a folder."""

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
        """Somebody works in this folder: update sessions of its repository that have an old path."""
        return SeenRepository(*await self.arrive(self._open_here(cwd)))

    async def arrive(self, here: Workspace) -> tuple[str, list[str]]:
        """The repository's id, and the sessions that moved with it. If interrupted, the next call finishes it.

        Raises OwnedError if it has moved and somebody is working in it: nothing is changed under them.
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
        """The id of the repository that a new session starts in; None outside a repository."""
        repo = self._find(root) if root is not None else None
        if root is None or repo is None:
            return None
        remembered = await self._remembered(self._open_here(root)) if self._identities.find(repo) is None else None
        return await asyncio.to_thread(self._identities.ensure, repo, remembered)

    async def _remembered(self, here: Workspace) -> str | None:
        """The id under which sessions know a repository that has no id (any more).

        Another repository may be in its place by now: a session counts if its worktree or its journal is there.
        """
        root = here.repository.root
        everyone = await self._supervisor.engine.all_sessions()
        ours = [one for one in everyone if one.repository == root and one.repository_id]
        known = [one for one in ours if self._has_traces(here, one)]
        return max(known, key=lambda one: (one.is_up, one.created_at)).repository_id if known else None

    def _refuse_in_use(self, here: Workspace, found: KnownRepository) -> None:
        """Worktree links are changed only if no agent and no run needs them.

        For example, a container has the same repository under another path while the host's agents keep working.
        """
        told = f"{found.before} is {here.repository.root} now, but its worktrees are not relinked"
        for session in self._supervisor.engine.at_hand():
            if session.repository_id == found.id and session.is_up:
                hint = f"wait until it has finished, or end it: rekindle stop {session.id} --sleep"
                raise OwnedError(f"{told}: the agent of session {session.id} works in it", hint)
        for run in here.held():
            owner = run.owner
            if owner.verdict == "alive":
                hint = "wait until it has ended, or end it with `rekindle stop`"
                raise OwnedError(f"{told}: pid {owner.pid} holds run {owner.sid} of {run.feature}", hint)
            hint = f"work on that host; if that host or container is gone for good, remove {run.record}"
            held = f"run {owner.sid} of {run.feature} is held on another host; only that host can tell"
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
