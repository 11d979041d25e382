"""Repositories that were moved: their sessions learn where they are now, before anything is done there."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rekindle import files
from rekindle.adapters.git import identity, repository
from rekindle.adapters.git.repository import Repository
from rekindle.adapters.journal_file import run_owner
from rekindle.adapters.vault.relocating import carry_records
from rekindle.core.identity import carried
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
from rekindle.ports.errors import OwnedError
from rekindle.ports.identity import KnownRepository
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)


class Place(Protocol):
    """A repository as it is found. `state_dir` is the user's, `progress` the folder of its journals."""

    @property
    def repository(self) -> Repository: ...

    @property
    def state_dir(self) -> str: ...

    @property
    def progress(self) -> str: ...


class Relocations:
    """Knows repositories again. `note` keeps a session's beginning where the store can be rebuilt from."""

    def __init__(
        self,
        supervisor: Supervisor,
        open_here: Callable[[str], Place],
        environment: Callable[[Session], Mapping[str, str]],
        note: Callable[[Session], None],
    ) -> None:
        self._supervisor = supervisor
        self._open_here = open_here
        self._environment = environment
        self._note = note

    async def seen(self, *, cwd: str) -> dict[str, Any]:
        """Somebody works in this folder: sessions of its repository that believe it elsewhere are told."""
        moved = await self.arrive(self._open_here(cwd))
        return {"repository": moved[0], "moved": moved[1]}

    async def arrive(self, here: Place) -> tuple[str, list[str]]:
        """The repository's id, and the sessions that have moved with it. What is cut short is done by the next one.

        Raises OwnedError where it has moved and somebody is at work in it: nothing is changed under their hands.
        """
        repo = here.repository
        found = await asyncio.to_thread(identity.find, repo)
        if found is None or found.verdict == "copy":
            return await asyncio.to_thread(identity.ensure, repo, self._remembered(here)), []
        if found.verdict == "moved":
            self._refuse_in_use(here, found)
        await asyncio.to_thread(identity.put_right, repo, found, here.state_dir, here.progress)
        moved = []
        for session in self._supervisor.engine.sessions():
            if session.repository_id == found.id and session.repository not in (None, repo.root):
                await self._follow(session, repo.root)
                moved.append(session.id)
        try:
            await asyncio.to_thread(identity.settle, repo, found)
        except OSError as error:
            log.warning("%s: where it is cannot be written down (%s)", repo.root, error.strerror)
        return found.id, moved

    async def known_as(self, root: str | None) -> str | None:
        """The id of the repository that a new session begins in; None outside of any."""
        repo = repository.find(root) if root is not None else None
        if root is None or repo is None:
            return None
        remembered = self._remembered(self._open_here(root)) if identity.find(repo) is None else None
        return await asyncio.to_thread(identity.ensure, repo, remembered)

    def _remembered(self, here: Place) -> str | None:
        """What sessions know a repository by that has no id (any more).

        Another repository may stand in its place by now: a session counts if its worktree or its journal is there.
        """
        root = here.repository.root
        ours = [one for one in self._supervisor.engine.sessions() if one.repository == root and one.repository_id]
        known = [one for one in ours if _has_traces(here, one)]
        return max(known, key=lambda one: (one.is_up, one.created_at)).repository_id if known else None

    def _refuse_in_use(self, here: Place, found: KnownRepository) -> None:
        """The links of worktrees are changed only where no agent and no run needs them.

        A container, say, has the same repository under another path, and the host's agents go on meanwhile.
        """
        told = f"{found.before} is {here.repository.root} now, but its worktrees are not linked again"
        for session in self._supervisor.engine.sessions():
            if session.repository_id == found.id and session.is_up:
                hint = f"wait until it has finished, or end it: rekindle stop {session.id} --sleep"
                raise OwnedError(f"{told}: the agent of session {session.id} works in it", hint)
        for name in sorted(os.listdir(here.progress)) if os.path.isdir(here.progress) else []:
            folder = os.path.join(here.progress, name)
            owner = run_owner.owner(folder)
            if owner is not None and owner.verdict == "alive":
                hint = "wait until it has ended, or end it with `rekindle stop`"
                raise OwnedError(f"{told}: pid {owner.pid} holds run {owner.sid} of {name}", hint)
            if owner is not None:
                record = os.path.join(folder, run_owner.RECORD_NAME)
                hint = f"work where it is held; if that host or container is gone for good, remove {record}"
                raise OwnedError(f"{told}: run {owner.sid} of {name} is held elsewhere, which alone can tell", hint)

    async def _follow(self, session: Session, root: str) -> None:
        before = session.repository or root
        cwd = carried(session.cwd, before, root)
        told = await asyncio.to_thread(carry_records, session, cwd, self._environment(session))
        worktree = carried(session.worktree, before, root) if session.worktree is not None else None
        at = self._supervisor.engine.clock()
        facts = [f.Noticed(at=at, message=one) for one in told]
        moved = f.Relocated(at=at, repository=root, cwd=cwd, worktree=worktree)
        await self._supervisor.record(session.id, moved, *facts)
        await asyncio.to_thread(self._note, self._supervisor.engine.session(session.id))


def _has_traces(here: Place, session: Session) -> bool:
    if session.worktree is not None and identity.holds(here.repository, session.worktree):
        return True
    return session.feature is not None and os.path.isfile(os.path.join(here.progress, session.feature, files.EVENTS))
