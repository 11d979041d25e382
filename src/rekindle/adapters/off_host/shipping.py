"""Copies what is new of a session off this host: spools as they grow, the vault's copy of the agent's record, the tree.

It reads files that others write, and changes none. What is copied is not masked: a masked record cannot be resumed. An
agent's environment is not copied: the agent gets that of the host it is started on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from rekindle import files
from rekindle.adapters.off_host import trees
from rekindle.adapters.off_host.whole_copy import WholeCopy
from rekindle.adapters.session_folder import environment as kept_environment
from rekindle.adapters.session_folder.layout import SessionFolder, session_folder
from rekindle.adapters.vault import record_files
from rekindle.adapters.vault.vault import editions, transcript
from rekindle.agents.registry import AGENTS, record_place
from rekindle.core.off_host import (
    STATE,
    TREES,
    CopyState,
    RecordLook,
    counted,
    is_growing,
    is_wanted,
    kept_since,
    newest,
    stream_of,
    tree_number,
)
from rekindle.core.session.state import Session
from rekindle.core.vault import frames
from rekindle.ports.blobs import LARGEST_PIECE, BlobDamaged, BlobError, Blobs, Piece, following
from rekindle.ports.errors import GitFailed
from rekindle.ports.off_host import Shipped

_SPEC = "spec.json"
#: How many looks at a record are remembered while its copy lags behind.
_LOOKS = 60


@dataclass
class _Known:
    """What was copied of one session."""

    attempt: int
    lengths: dict[str, int]
    editions: dict[str, int]
    tree: int
    digests: dict[str, bytes] = field(default_factory=dict)
    added: int = 0
    #: what was told last of it, but for the time
    state: CopyState | None = None
    #: how much of the agent's own record each edition of the vault's copy has
    held: dict[str, int] = field(default_factory=dict)
    #: how that record looked before each copy, since the last one that had all of it; of which file
    looks: list[RecordLook] = field(default_factory=list)
    place: str | None = None
    #: the copy of the record that whoever had the session before has left, and of which conversation it is
    left: tuple[str | None, str | None] = (None, None)

    def has(self, path: str) -> bool:
        """Whether something of a file was copied."""
        return self.lengths.get(stream_of(path, self.editions.get(path, 1)), 0) > 0


class Shipper:
    """Belongs to one host. May be called from any thread: a session is copied by one at a time."""

    def __init__(self, blobs: Blobs, sessions: str, host: str) -> None:
        self._blobs = blobs
        self._sessions = sessions
        self._host = host
        self._known: dict[str, _Known] = {}
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def ship(self, session: Session, now: float) -> Shipped:
        """Copy what is new. If that fails, the next call looks at what arrived."""
        with self._turns[session.id]:
            try:
                return self._ship(session, now)
            except BaseException:
                self._known.pop(session.id, None)
                raise

    def _ship(self, session: Session, now: float) -> Shipped:
        known = self._of(session)
        known.added = 0
        folder = session_folder(self._sessions, session.id)
        place = _place(folder, session)
        _look(known, place, now)
        seen = {name: _changed(os.path.join(folder.vault, name)) for name in _listed(folder.vault)}
        for path in _paths(folder):
            if is_growing(path):
                self._grow(session.id, known, folder, path)
            else:
                self._put(session.id, known, path, _read(folder, path))
        notes = self._tree(session, known)
        attempt = session.attempt
        record = _record(folder, place, known)
        since = _lacks_since(folder, record, session, known, seen)
        at = now if since is None else min(now, since)
        state = CopyState(
            host=self._host,
            at=at,
            attempt=attempt.number if attempt is not None else 0,
            cwd=session.cwd,
            repository=session.repository,
            worktree=session.worktree,
            branch=session.branch,
            token=session.token,
            record=record or (known.left[0] if known.left[1] == session.token else None),
            tree=known.tree,
            notes=notes,
            bytes=counted(known.lengths),
        )
        if known.added or known.state != replace(state, at=0.0):
            # Its record may be copied before it is known which conversation that is.
            self._put(session.id, known, STATE, msgspec.json.encode(state))
            known.state = replace(state, at=0.0)
        return Shipped(at, known.added, known.tree, since is not None)

    def _of(self, session: Session) -> _Known:
        number = session.attempt.number if session.attempt is not None else 1
        known = self._known.get(session.id)
        if known is not None and known.attempt == number:
            return known
        self._blobs.claim(session.id, number)
        pieces = self._blobs.pieces(session.id)
        names = {one.name for one in pieces}
        lengths = {name: following(name, pieces) for name in names}
        tree = max(filter(None, map(tree_number, names)), default=0)
        left: tuple[str | None, str | None] = (None, None)
        with contextlib.suppress(BlobDamaged):
            before = WholeCopy(self._blobs, session.id).state()
            left = (before.record, before.token) if before is not None else left
        self._known[session.id] = _Known(number, lengths, newest(names), tree, left=left)
        return self._known[session.id]

    def _grow(self, session: str, known: _Known, folder: SessionFolder, path: str) -> None:
        """Copy what was added to a file. One that became shorter begins a new edition."""
        try:
            fd = files.open_to_read(os.path.join(folder.path, path))
        except FileNotFoundError:
            return
        try:
            size = os.fstat(fd).st_size
            edition = known.editions.setdefault(path, 1)
            if size < known.lengths.get(stream_of(path, edition), 0):
                edition = known.editions[path] = edition + 1
            stream = stream_of(path, edition)
            at = known.lengths.get(stream, 0)
            while at < size and (data := os.pread(fd, min(LARGEST_PIECE, size - at), at)):
                data = _whole_frames(data, at, size) if path.startswith("vault/") else data
                if not data:
                    return
                self._add(session, known, stream, at, data)
                at += len(data)
                if stream in known.held:
                    known.held[stream] = max(known.held[stream], frames.held(data))
        finally:
            os.close(fd)

    def _put(self, session: str, known: _Known, path: str, data: bytes | None) -> None:
        """Copy a file that is written anew each time, if it says something else than before."""
        if not data or known.digests.get(path) == (digest := hashlib.blake2b(data).digest()):
            return
        known.editions[path] = known.editions.get(path, 0) + 1
        stream = stream_of(path, known.editions[path])
        for at in range(0, len(data), LARGEST_PIECE):
            self._add(session, known, stream, at, data[at : at + LARGEST_PIECE])
        known.digests[path] = digest

    def _add(self, session: str, known: _Known, stream: str, at: int, data: bytes) -> None:
        self._blobs.add(session, Piece(stream, at, len(data), known.attempt), data)
        known.lengths[stream] = at + len(data)
        known.added += len(data)

    def _tree(self, session: Session, known: _Known) -> list[str]:
        """Copy new snapshots. What cannot be bundled is said, and tried again with the next one."""
        try:
            new = trees.newer(session.cwd, session.id, known.tree)
        except (GitFailed, OSError) as error:
            return [f"the work tree could not be copied: {error}"]
        if new is not None:
            stream = f"{TREES}{new.number:08}"
            for at in range(0, len(new.data), LARGEST_PIECE):
                self._add(session.id, known, stream, at, new.data[at : at + LARGEST_PIECE])
            known.tree = new.number
        return []


def _paths(folder: SessionFolder) -> list[str]:
    """The files that are copied, by their paths inside the folder. Attempts come in order."""
    attempts = [str(number) for number in folder.attempts()]
    found = [name for name in _listed(folder.path) if is_wanted(name)]
    found += [f"{number}/{name}" for number in attempts for name in _listed(os.path.join(folder.path, number))]
    found += [f"vault/{name}" for name in _listed(folder.vault)]
    return [path for path in found if is_wanted(path)]


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read(folder: SessionFolder, path: str) -> bytes | None:
    try:
        data = files.read(os.path.join(folder.path, path))
    except FileNotFoundError:
        return None  # files of a live session come and go
    if not path.endswith(_SPEC):
        return data
    try:
        return json.dumps({**json.loads(data), "env": {}}).encode()
    except (ValueError, TypeError):
        return None  # it is just being written


def _whole_frames(data: bytes, at: int, size: int) -> bytes:
    """As many whole frames as there are: a torn one at the end is cut off by the vault's next writer."""
    upto = frames.whole(data)
    if upto == 0 and at + len(data) < size:
        raise BlobError("a frame of the vault is larger than a piece")
    return data[:upto]


def _place(folder: SessionFolder, session: Session) -> str | None:
    """Where the agent's own record of the conversation is; None: nobody knows, or there is none."""
    if session.token is None:
        return None
    environment = kept_environment.read(folder.path) or {}
    place = record_place(session.agent, environment, os.path.realpath(session.cwd), session.token)
    dialect = AGENTS[session.agent].transcript if session.agent in AGENTS else None
    if place is not None and dialect is not None and "*" in place:
        place = record_files.match(dialect, place, folder.vault, thorough=False)
    return place


def _look(known: _Known, place: str | None, now: float) -> None:
    """Remember how long the record is before anything is copied: a copy that has that has all that was there now."""
    if known.place != place:
        known.place, known.looks = place, []
    if place is None:
        return
    try:
        status = os.stat(place)
    except OSError:
        known.looks = []
    else:
        known.looks = [*known.looks[-_LOOKS:], RecordLook(now, status.st_size, status.st_mtime)]


def _record(folder: SessionFolder, place: str | None, known: _Known) -> str | None:
    """The vault's copy of the agent's own record: its newest edition that was copied off this host.

    An edition that has just been begun has nothing of the record yet, and counts for nothing.
    """
    if place is None:
        return None
    listed = editions(folder.vault, transcript(os.path.realpath(place)).name)
    names = [os.path.basename(one.path) for one in listed]
    return next((one for one in reversed(names) if known.has(f"vault/{one}") and _held(folder, one, known)), None)


def _lacks_since(
    folder: SessionFolder, name: str | None, session: Session, known: _Known, seen: Mapping[str, float | None]
) -> float | None:
    """Since when the copy lacks something of the agent's record; None: it has all. The vault follows a moment later.

    `seen`: when the vault's files were changed before the copy.
    """
    if not known.looks:
        return None
    changed = seen.get(name) if name is not None else None
    found = None
    if name is not None and changed is not None:
        found = kept_since(known.looks, _held(folder, name, known), changed)
    if found is None:
        begun = session.attempt.opened_at if session.attempt is not None else 0.0
        return begun or session.created_at
    is_newest = found == known.looks[-1]
    known.looks = known.looks[known.looks.index(found) :]
    return None if is_newest else found.at


def _held(folder: SessionFolder, name: str, known: _Known) -> int:
    """How much of the agent's record the copy of an edition has. The file is read once; then what is added counts."""
    path = f"vault/{name}"
    stream = stream_of(path, known.editions[path])
    if stream not in known.held:
        known.held[stream] = frames.held((_read(folder, path) or b"")[: known.lengths[stream]])
    return known.held[stream]


def _changed(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None
