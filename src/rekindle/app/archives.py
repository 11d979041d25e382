"""Moves sessions: exports one to a file without disturbing a live agent, and imports it elsewhere."""

from __future__ import annotations

import os
import secrets
import time
import uuid
from collections.abc import Collection, Mapping

import msgspec

from rekindle.app.session_list import SessionList
from rekindle.core.archive_trust import TRUSTABLE, Wish
from rekindle.core.moving import Manifest
from rekindle.ports.archives import Archives, ImportTarget
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import OwnedError, RekindleError, UsageError
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.snapshots import KeptTrees

#: The names shown for what a person can trust.
_NAMED = (*TRUSTABLE, "prompt not sent yet")


class ExportRequest(msgspec.Struct, frozen=True):
    """`output` is a file, by default rekindle-ID.tar.gz here. `with_secrets`: nothing is masked."""

    session: str
    output: str | None = None
    with_secrets: bool = False


class ExportAnswer(msgspec.Struct, frozen=True):
    """Where the archive is; `notes` say what it lacks."""

    session: str
    file: str
    bytes: int
    manifest: Manifest
    notes: list[str]


class ImportRequest(msgspec.Struct, frozen=True):
    """`cwd` is where the agent works from now on, `trusted` which of the archive's requests are granted."""

    file: str
    cwd: str
    as_new: bool = False
    trusted: tuple[str, ...] = ()


class ImportAnswer(msgspec.Struct, frozen=True):
    """The session as it now is here; `notes` say what could not be restored."""

    id: str
    status: str
    cwd: str
    manifest: Manifest
    wishes: list[Wish]
    notes: list[str]

    @property
    def was_reset(self) -> bool:
        """Whether something that the archive asked for was not granted, although a person could grant it."""
        return any(not wish.counts for wish in self.wishes if wish.key in _NAMED)


class MovingSessions:
    """`environment` is the caller's: its secrets are masked, and an imported agent gets it. `agents`: known here."""

    def __init__(
        self,
        sessions: SessionList,
        kept: KeptSessions,
        trees: KeptTrees,
        archives: Archives,
        daemon: Daemon,
        environment: Mapping[str, str],
        agents: Collection[str],
    ) -> None:
        self._sessions = sessions
        self._kept = kept
        self._trees = trees
        self._archives = archives
        self._daemon = daemon
        self._environment = environment
        self._agents = agents

    def export(self, asked: ExportRequest) -> ExportAnswer:
        """Write a session to one file. Needs no daemon."""
        name = str(self._sessions.own_row(asked.session, "its files are there")["id"])
        target = os.path.abspath(asked.output or f"rekindle-{name}.tar.gz")
        if os.path.isdir(target) or not os.path.isdir(os.path.dirname(target)):
            raise UsageError(f"{target} cannot be written", "give the path of a file in an existing folder")
        facts = self._kept.facts(name)
        notes = self._snapshot(name)
        done = self._archives.write(name, facts, target, self._environment, with_secrets=asked.with_secrets)
        notes += [*done.notes, *(f"left out: {one}" for one in done.manifest.left_out)]
        return ExportAnswer(name, target, os.path.getsize(target), done.manifest, notes)

    def _snapshot(self, session: str) -> list[str]:
        """Save the current work tree, if it exists."""
        cwd = next((str(row["cwd"]) for row in self._kept.rows() if row["id"] == session), "")
        if not os.path.isdir(cwd):
            return [f"{cwd} does not exist, so the archive has no snapshots"]
        try:
            self._trees.take(cwd, session, "before an export", time.time())
        except RekindleError as error:
            return [f"the current work tree is not in the archive: {error.message}"]
        return []

    def put_in_place(self, asked: ImportRequest) -> ImportAnswer:
        """Import an archive: asleep, or interrupted as it was. All of it, or nothing."""
        folder = os.path.realpath(asked.cwd)
        if not os.path.isdir(folder):
            raise UsageError(f"{folder}: there is no such folder", "name the folder the agent works in with --cwd")
        known = {row["id"] for row in self._sessions.rows()}
        chosen: list[ImportTarget] = []

        def choose(manifest: Manifest) -> ImportTarget:
            return self._place(asked, manifest, folder, known)

        def take_over(place: ImportTarget, staged: str) -> None:
            self._daemon.ask("adopt", session=place.session, staged=staged, env=dict(place.environment))
            chosen.append(place)

        done = self._archives.put_in_place(asked.file, choose, take_over)
        told = self._daemon.ask("show", session=chosen[0].session)
        return ImportAnswer(told["id"], told["status"], folder, done.manifest, done.wishes, done.notes)

    def _place(self, asked: ImportRequest, manifest: Manifest, folder: str, known: set[str]) -> ImportTarget:
        if manifest.agent not in self._agents:
            raise UsageError(f"there is no agent {manifest.agent!r} here", f"there are: {', '.join(self._agents)}")
        if manifest.session in known and not asked.as_new:
            raise OwnedError(
                f"there is a session {manifest.session} here already",
                "--as-new gives the imported one a new id",
                code="session_exists",
            )
        name = secrets.token_hex(5) if asked.as_new else manifest.session
        token = str(uuid.uuid4()) if asked.as_new else None
        environment = dict(self._environment)
        return ImportTarget(self._archives.sessions, name, folder, environment, token, frozenset(asked.trusted))
