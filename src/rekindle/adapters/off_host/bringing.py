"""Puts a session in place on this host from what another one copied: its folder, its work tree, its agent's record.

Nothing that is here is deleted: what stands in the way is moved aside first. Every step can be done again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rekindle import files
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import make_branch
from rekindle.adapters.moving.importing import record_target
from rekindle.adapters.off_host import clones, trees
from rekindle.adapters.off_host.whole_copy import WholeCopy
from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.adapters.session_folder.layout import SessionFolder, session_folder
from rekindle.adapters.session_folder.left_behind import cut_of
from rekindle.adapters.snapshots import restoring, taking
from rekindle.adapters.vault import edition
from rekindle.core.names import why_not
from rekindle.core.off_host import UNKNOWN_HOST, CopyState
from rekindle.core.session.state import Session
from rekindle.ports.blobs import Blobs
from rekindle.ports.errors import OwnedError, RekindleError
from rekindle.ports.off_host import Brought

_WORKTREES = ".worktrees"
#: In the folder of a session until all of it is in place.
_HALF = "half-arrived"


class Bringer:
    """`state` is the folder of this host's own state, with its sessions; `sources` say where repositories are."""

    def __init__(self, blobs: Blobs, state: str, sources: Sequence[str]) -> None:
        self._blobs = blobs
        self._state = state
        self._sessions = os.path.join(state, "sessions")
        self._sources = sources

    def bring(
        self, session: Session, attempt: int, environment: Mapping[str, str], now: float, base: str = ""
    ) -> Brought:
        """Claim a session, and put all that was copied in place."""
        if (problem := why_not(session.id)) is not None:  # folders are moved and removed by this name
            raise RekindleError(f"the id {session.id[:60]!r} of a session {problem}", "it is none of ours: leave it")
        if files.is_locked(session_folder(self._sessions, session.id).lock):
            raise OwnedError(f"an agent of session {session.id} runs on this host", "wait until it has ended")
        try:
            return self._brought(session, attempt, environment, now, base)
        except OSError as error:
            raise RekindleError(
                f"session {session.id} cannot be put in place on this host: {error}",
                "see whether its disk has room; then take it over again",
            ) from error

    def _brought(
        self, session: Session, attempt: int, environment: Mapping[str, str], now: float, base: str
    ) -> Brought:
        self._blobs.claim(session.id, attempt)
        copied = WholeCopy(self._blobs, session.id)
        told = copied.state()
        state = told if told is not None else _as_stored(session)
        _refuse_odd_places(session, state)
        missing = [f"what happened on {state.host} after {_clock(state.at)}, when it was last copied", *state.notes]
        if told is None:  # its host was lost within a second of its beginning: what it was asked for is in the store
            missing = ["all that its agent said and did: nothing of it was copied before its host was lost"]
        elif unheard := [one.number for one in session.attempts if one.number > told.attempt and one.opened]:
            numbers = " and ".join(str(one) for one in unheard)
            missing.insert(0, f"all that its agent said and did in attempt {numbers}: nothing of it was copied")
        if (gone := state.bytes - copied.size) > 0:
            missing.append(f"{gone} bytes of what was copied: they are gone from where the copies are kept")
        folder = self._put_folder(session, copied, environment)
        cwd, repository, worktree, branch = self._put_tree(session, state, copied, missing, now, base)
        self._put_record(session, state, folder, cwd, environment, missing)
        missing += copied.damage
        os.unlink(os.path.join(folder, _HALF))
        return Brought(state, cwd, repository, worktree, branch, cut_of(folder, session), missing)

    def _put_folder(self, session: Session, copied: WholeCopy, environment: Mapping[str, str]) -> str:
        """The session's folder, whole. One that was here before is kept aside: it may have what was never copied."""
        staged = os.path.join(self._state, "arrivals", session.id)
        if os.path.isdir(staged):
            shutil.rmtree(staged)  # half of an arrival of ours, that is made anew
        files.make_private(staged)
        files.replace(os.path.join(staged, _HALF), b"", mode=0o600)
        for path in copied.paths:
            if (data := copied.content(path)) is not None:
                target = os.path.join(staged, *path.split("/"))
                files.make_private(os.path.dirname(target))
                files.replace(target, data, mode=0o600, durable=True)
        kept_environment.write(staged, dict(environment))
        folder = session_folder(self._sessions, session.id).path
        if os.path.lexists(os.path.join(folder, _HALF)):
            shutil.rmtree(folder)  # an arrival of ours that was not finished: nobody has worked in it
        elif os.path.lexists(folder):
            os.rename(folder, self._aside(session.id))
        os.rename(staged, folder)
        files.sync_folder(self._sessions)
        return folder

    def _aside(self, session: str) -> str:
        kept = os.path.join(self._state, "kept-aside")
        files.make_private(kept)
        number = 1
        while os.path.lexists(path := os.path.join(kept, f"{session}-{number}")):
            number += 1
        return path

    def _put_tree(
        self, session: Session, state: CopyState, copied: WholeCopy, missing: list[str], now: float, base: str
    ) -> tuple[str, str | None, str | None, str | None]:
        """The clone, with the session's snapshots and its branch. The work tree itself is built before the start."""
        if state.repository is None:
            folder = os.path.join(self._state, "folders", session.id)
            files.make_private(folder)
            missing.append(f"the files in {state.cwd}: it was in no repository")
            return folder, None, None, None
        clone = clones.ready(
            os.path.join(self._state, clones.CLONES), os.path.basename(state.repository), self._sources
        )
        heads: dict[str, str] = {}
        for bundle in copied.bundles():
            heads |= trees.put_back(clone, session.id, bundle)
        if heads and (kept := trees.only(clone, session.id, heads)):
            missing.append(f"{kept} snapshots that this host had and nobody copied: they are kept, under no number")
        top = state.worktree or state.repository
        branch = state.branch or f"rekindle/{session.id}"
        name = os.path.basename(top)
        worktree = os.path.join(clone, _WORKTREES, name if state.branch and why_not(name) is None else session.id)
        cwd = os.path.normpath(os.path.join(worktree, os.path.relpath(state.cwd, top)))
        if not files.is_below(os.path.realpath(cwd), os.path.realpath(worktree)):
            cwd = worktree
        found = taking.known(Git(clone), taking.namespace_of(session.id))
        if not found:
            missing.append("the files of its work tree: no snapshot of it was copied")
            _begin(clone, branch, base)
            return cwd, clone, worktree, branch
        last = found[-1]
        missing.append(f"files that were changed on {state.host} after the snapshot of {_clock(last.at)}")
        if last.head is not None:
            _advance(clone, branch, last.head, worktree, missing)
        if os.path.isdir(worktree):  # the session was here before
            restoring.restore(worktree, session.id, last.id, None, now)
        return cwd, clone, worktree, branch

    def _put_record(
        self,
        session: Session,
        state: CopyState,
        folder: str,
        cwd: str,
        environment: Mapping[str, str],
        missing: list[str],
    ) -> None:
        """The agent's own record of the conversation, where it looks for it on this host."""
        if session.token is None:
            return
        path = os.path.join(SessionFolder(folder).vault, os.path.basename(state.record or ""))
        if state.record is None or state.token != session.token or not os.path.isfile(path):
            missing.append("the agent's own record of the conversation: it was not copied")
            return
        record = edition.read(path)
        if not record.data:
            missing.append("the agent's own record of the conversation: its copy is empty")
            return
        if not record.is_whole:
            missing.append("a part of the agent's own record: its copy is damaged")
        target = record_target(session.agent, environment, os.path.realpath(cwd), session.token, record.data)
        if target is None:
            missing.append(f"the agent's own record: where {session.agent} keeps it is not known")
            return
        if os.path.lexists(target) and files.read(target) != record.data:
            number = 1
            while os.path.lexists(aside := f"{target}.aside-{number}"):
                number += 1
            os.rename(target, aside)
        files.make_private(os.path.dirname(target))
        files.replace(target, record.data, mode=0o600, durable=True)


def _as_stored(session: Session) -> CopyState:
    """What the store alone says of a session that was never copied."""
    return CopyState(
        host=UNKNOWN_HOST,
        at=session.created_at,
        attempt=session.attempt.number if session.attempt is not None else 0,
        cwd=session.cwd,
        repository=session.repository,
        worktree=session.worktree,
        branch=session.branch,
        token=None,
        record=None,
    )


def _refuse_odd_places(session: Session, state: CopyState) -> None:
    """Refuse places that no file can have: what is copied, and what is stored, may be anybody's words."""
    for path in (state.cwd, state.repository, state.worktree):
        if path is not None and not (path and files.can_be_a_path(path)):
            raise RekindleError(
                f"session {session.id} is said to be in {path[:60]!r}, which is not a place",
                "what is stored of it was changed",
            )


def _begin(clone: str, branch: str, base: str) -> None:
    """Have a branch of which nothing got here begin anew, at the commit that its job names."""
    git = Git(clone)
    if base and git.line("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}") is None:
        make_branch(git, branch, base)


def _advance(clone: str, branch: str, head: str, worktree: str, missing: list[str]) -> None:
    """Have the session's branch at the commit that its agent had checked out, if it only lags behind."""
    git, ref = Git(clone), f"refs/heads/{branch}"
    tip = git.line("rev-parse", "--quiet", "--verify", f"{ref}^{{commit}}")
    if tip is None or tip == head:
        return
    if git.run("merge-base", "--is-ancestor", tip, head).returncode != 0:
        missing.append(f"the branch {branch} went another way on this host; the agent had {head[:10]} checked out")
        return
    git.output("update-ref", "-m", "rekindle: taken over from another host", ref, head, tip)
    if os.path.isdir(worktree):
        git.at(worktree).output("read-tree", head)


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
