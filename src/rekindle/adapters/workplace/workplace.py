"""Where agents work on this machine: the environment that they were started from, their folder, their callbacks."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import math
import os
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from rekindle import files
from rekindle.adapters.callbacks.serving import CHANGING, Callbacks
from rekindle.adapters.git import process as git
from rekindle.adapters.keepers.keeper_process import stamp
from rekindle.adapters.machine import commands
from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.adapters.session_folder import handovers
from rekindle.adapters.session_folder.conversation import FolderConversations
from rekindle.adapters.session_folder.layout import SessionFolder, session_folder
from rekindle.adapters.session_folder.session_file import (
    agent_of,
    read_imported,
    read_session_file,
    write_session_file,
)
from rekindle.adapters.snapshots.changes import Changes, changed_in, changed_since, conflict, look
from rekindle.adapters.workplace.rebuilding import Wanted, is_missing, rebuild
from rekindle.adapters.workplace.recent import recently_written
from rekindle.agents.base.conversation import as_turns, last_turns
from rekindle.agents.base.dialect import CallbackRefused, CallbackResult
from rekindle.agents.base.observation import CallbackAsked
from rekindle.core.moving import is_id
from rekindle.core.session.facts import AnyFact, Created, Handover
from rekindle.core.session.history import Turn
from rekindle.core.session.state import Session
from rekindle.ports.errors import GitFailed, OwnedError, UsageError
from rekindle.ports.feature import CommandDone

_POLL = 0.1
#: How long the command of a gate may take.
GATE_SECONDS = 3600.0
#: For so many seconds the look of `ready` is good enough for `changed`: a start asks for both, one after the other.
_FRESH = 1.0


class LocalWorkplace:
    """See `rekindle.ports.workplace.Workplace`. The environment may hold keys: its file is this user's alone."""

    def __init__(self, sessions: str, sockets: str) -> None:
        self._sessions = sessions
        self._sockets = sockets
        self._conversations = FolderConversations(sessions)
        self._callbacks: dict[tuple[str, int], Callbacks] = {}
        self._looked: dict[str, tuple[float, Changes | None]] = {}

    def prepare(self, created: Created, env: dict[str, str]) -> None:
        """Make a session's folder, with what has to outlive the store."""
        folder = session_folder(self._sessions, created.session).path
        os.makedirs(folder, mode=0o700, exist_ok=True)
        kept_environment.write(folder, env)
        write_session_file(Path(folder), created)

    def note_place(self, session: Session) -> None:
        """The session's repository was moved: a store that is rebuilt has to know it where it is."""
        folder = Path(session_folder(self._sessions, session.id).path)
        created = read_session_file(folder)
        if isinstance(created, Created):
            now = replace(created, cwd=session.cwd, repository=session.repository, worktree=session.worktree)
            write_session_file(folder, now)

    def take_over(self, session: str, staged: str, env: dict[str, str]) -> list[AnyFact]:
        """Make a folder that was imported the session's own, and return the facts that it came with.

        A folder that a crashed import left goes out with the one that takes its place.
        """
        facts = read_imported(Path(staged))
        if not facts or not isinstance(facts[0], Created) or facts[0].session != session or not is_id(session):
            raise UsageError(f"{staged} holds no session {session}", "import its archive again")
        folder = session_folder(self._sessions, session).path
        kept_environment.write(staged, env)
        write_session_file(Path(staged), facts[0])
        if os.path.exists(SessionFolder(folder).imported):
            os.rename(folder, f"{staged}.before")
        if os.path.exists(folder):
            raise OwnedError(f"there is a folder {folder} already", "look at it before you remove it")
        os.rename(staged, folder)
        files.sync_folder(self._sessions)
        return facts

    def change_environment(self, session: Session, env: dict[str, str]) -> None:
        """From the next attempt on the agent has another environment."""
        kept_environment.write(session_folder(self._sessions, session.id).path, env)

    def note_agent(self, session: Session) -> None:
        """Write down whose the newest attempt is, if another agent had the ones before."""
        folder = session_folder(self._sessions, session.id).path
        assert session.attempt is not None
        if handovers.agent_of(folder, session.attempt.number, agent_of(folder)) != session.agent:
            handover = Handover(session.agent, session.model, session.arguments)
            handovers.keep(folder, session.attempt.number, handover)

    def environment(self, session: Session) -> dict[str, str]:
        """The environment that the session was started in, and what tells its hooks which session they belong to."""
        kept = kept_environment.read(session_folder(self._sessions, session.id).path)
        env = kept if kept is not None else dict(os.environ)
        env["PWD"] = session.cwd
        env["REKINDLE_SESSION"] = session.id
        if session.feature is not None:
            env["REKINDLE_FEATURE"] = session.feature
        return env

    def resolve(self, cwd: str, paths: Iterable[str]) -> list[str]:
        """Absolute paths, links followed."""
        return [os.path.realpath(os.path.join(cwd, path)) for path in paths]

    async def ready(self, session: Session) -> list[str]:
        """Build a folder again that is gone, and look for work that is not where the agent left it."""
        return await asyncio.to_thread(self._ready, session)

    def _ready(self, session: Session) -> list[str]:
        own = session.worktree if session.branch is not None else None
        wanted = Wanted(session.id, session.cwd, own, session.branch, session.repository)
        self._looked.pop(session.id, None)
        told = rebuild(wanted) if is_missing(wanted) else []
        if not told and session.attempts:
            with contextlib.suppress(GitFailed, OSError):
                changes = look(session.cwd, session.id, session.worktree)
                self._looked[session.id] = (time.monotonic(), changes)
                found = conflict(changes, session.id)
                told += [found] if found is not None else []
        if kept_environment.read(session_folder(self._sessions, session.id).path) is None:
            told.append("the environment that the session was begun in cannot be read; its agent gets the daemon's")
        return told

    async def changed(self, session: Session) -> list[str]:
        """The files that differ from the end of the last turn. None where git cannot tell: the agent looks itself.

        A snapshot may show a moment that is a little later than the one it was asked for in. So if by the snapshots a
        turn that was cut has changed nothing, the times of the files are looked at as well.
        """
        turn = session.turn
        until = turn.sent_at if turn is not None and turn.state == "cut" else None
        at, changes = self._looked.pop(session.id, (-math.inf, None))
        if until is None and time.monotonic() - at < _FRESH:
            return changed_in(changes) or []
        try:
            found = await asyncio.to_thread(changed_since, session.cwd, session.id, session.worktree, until)
        except (GitFailed, OSError):
            found = None
        if not found and until is not None:
            return await asyncio.to_thread(recently_written, session.cwd, until)
        return found or []

    async def history(self, session: Session) -> list[Turn]:
        """What was said and done, from the spools."""
        return as_turns(await asyncio.to_thread(self._conversations.read, session.id))

    async def last_turns(self, session: Session, attempts: Collection[int]) -> dict[int, str]:
        """What the agent said in the last turn of each of these attempts, from the spools."""
        return last_turns(await asyncio.to_thread(self._conversations.read, session.id, attempts))

    async def end_terminals(self, session: Session) -> None:
        """End the commands that the session's agent has had us run."""
        if os.path.isdir(session_folder(self._sessions, session.id).terminals):
            callbacks = self._callbacks_of(session, session.attempt.number if session.attempt is not None else 0)
            await asyncio.to_thread(callbacks.terminals.end_all, "the agent has ended")

    async def run_gate(self, session: Session, words: Sequence[str]) -> CommandDone:
        """Run a command where the session's agent works."""
        before = await asyncio.to_thread(_checked_out, session.cwd)
        done = await commands.run(words, session.cwd, self.environment(session), GATE_SECONDS)
        after = await asyncio.to_thread(_checked_out, session.cwd)
        return dataclasses.replace(done, commit=before) if before == after else done

    async def serve(self, session: Session, attempt: int, asked: CallbackAsked) -> CallbackResult:
        """Do what the agent asks and return the result."""
        if session.permission == "deny" and asked.method in CHANGING:
            return CallbackRefused("not_allowed", "this session may not change anything")
        callbacks = self._callbacks_of(session, attempt)
        while True:
            result = await asyncio.to_thread(callbacks.serve, asked.method, asked.params, asked.request_id)
            if result is not None:
                return result
            await asyncio.sleep(_POLL)

    def _callbacks_of(self, session: Session, attempt: int) -> Callbacks:
        key = (session.id, attempt)
        if key not in self._callbacks:
            self._callbacks[key] = Callbacks(
                session_folder(self._sessions, session.id).path,
                session.cwd,
                stamp(self._sessions, session.id),
                attempt,
                self._sockets,
                self.environment(session),
            )
        return self._callbacks[key]


def _checked_out(folder: str) -> str:
    """The commit that is checked out in a folder; empty if there is none."""
    return git.line(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") or ""
