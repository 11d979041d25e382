"""Repositories that were moved: their sessions learn where they are now, before anything is done there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from rekindle.adapters import identity
from rekindle.adapters.relocating import carry_records
from rekindle.adapters.repository import Repository
from rekindle.core.identity import carried
from rekindle.core.session import facts as f
from rekindle.core.session.state import Session
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
        """The repository's id, and the sessions that have moved with it. What is cut short is done by the next one."""
        repo = here.repository
        found = await asyncio.to_thread(identity.find, repo)
        if found is None or found.verdict == "copy":
            return await asyncio.to_thread(identity.ensure, repo), []
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
