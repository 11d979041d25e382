"""A session's vault: for each source (a spool, the agent's own record) its editions, oldest first.

An edition continues while its source only grows. If the source shrinks, or what was copied of it has changed, a new
edition begins and the old one stays. A vault's folder holds files named SOURCE.NUMBER; one writer at a time, by a lock.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rekindle import files
from rekindle.adapters.vault import edition, lengths
from rekindle.adapters.vault.edition import About, Edition, EditionCalls, EditionContent
from rekindle.adapters.vault.lengths import Length
from rekindle.core.vault.frames import MAX_PAYLOAD
from rekindle.ports.errors import OwnedError

_LOCK = "lock"
_TRANSCRIPT = "transcript-"
_NAME = re.compile(r"([a-z]+-[0-9a-f]+)\.([0-9]+)")
_AT_ONCE = 32 * MAX_PAYLOAD


@dataclass(frozen=True)
class Source:
    """Something that is copied: its name in the vault, and where it lies."""

    name: str
    path: str
    attempt: int = 0


def transcript(path: str) -> Source:
    """The agent's own record."""
    name = hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()
    return Source(f"{_TRANSCRIPT}{name}", path)


def is_transcript(source: str) -> bool:
    """Whether a source of this name is an agent's own record."""
    return source.startswith(_TRANSCRIPT)


@dataclass(frozen=True)
class Listed:
    """An edition in the folder, not read yet."""

    source: str
    number: int
    path: str

    def read(self) -> EditionContent:
        """Read and check it. One that cannot be read is damaged: it stays, and a new one is begun beside it."""
        try:
            return edition.read(self.path)
        except FileNotFoundError:
            raise
        except OSError as error:
            return edition.unreadable(error.strerror or str(error))


def editions(folder: str, source: str | None = None) -> list[Listed]:
    """The editions in a vault, of one source or of all, each source's oldest first. Needs no lock."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [
        Listed(match[1], int(match[2]), os.path.join(folder, name))
        for name in names
        if (match := _NAME.fullmatch(name)) is not None and source in (None, match[1])
    ]
    return sorted(found, key=lambda one: (one.source, one.number))


def copies(folder: str, source: str) -> Iterator[bytes]:
    """What the whole editions of a source hold, the newest first."""
    for one in reversed(editions(folder, source)):
        copied = one.read()
        if copied.is_whole:
            yield copied.data


@dataclass
class _Watched:
    """A source's newest edition, and how the source looked when it was last copied."""

    edition: Edition | None
    look: tuple[int, int, int] = (0, -1, 0)


def _look(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


class Vault:
    """An open vault; it is locked until it is closed. Methods may be called from any thread, one at a time."""

    def __init__(
        self,
        folder: str,
        session: str,
        clock: Callable[[], float] = time.time,
        *,
        patience: float = 0.0,
        system: EditionCalls | None = None,
    ) -> None:
        self.folder = folder
        self._session = session
        self._clock = clock
        self._system = system or EditionCalls()
        self._watched: dict[str, _Watched] = {}
        _make_folder(folder)
        self._lock = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if not files.lock_within(self._lock, patience):
            os.close(self._lock)
            raise OwnedError(f"the vault of session {session} is in use", "try again in a moment")
        try:
            self._listed = lengths.read(folder) or {}
        except lengths.Unlisted:
            self._listed = {}

    def close(self, *, durable: bool = True) -> None:
        """Put everything on disk and close. A list that cannot be written now is written with the next sync."""
        try:
            if durable:
                now = self._synced()
                with contextlib.suppress(OSError):
                    self._write(now)
        finally:
            os.close(self._lock)

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def copy(self, source: Source, *, thorough: bool = False) -> int:
        """Copy what is new; returns how many bytes that was. Call `sync` before relying on it.

        Cheap if nothing has changed. `thorough` compares all that was copied before with the source.
        """
        try:
            status = os.stat(source.path)
            watched = self._of(source)
            if _look(status) == watched.look and not thorough:
                return 0
            fd = files.open_to_read(source.path)
        except (FileNotFoundError, NotADirectoryError):
            return 0
        try:
            return self._copy(source, watched, fd, thorough=thorough)
        finally:
            os.close(fd)

    def copied(self, source: Source) -> int:
        """How much of the source its newest edition holds."""
        found = self._of(source).edition
        return found.size if found is not None else 0

    def sync(self) -> None:
        """All copies are on disk when this returns, and so is how long they are."""
        self._write(self._synced())

    def remove(self, listed: Listed) -> None:
        """Remove an edition. It is taken off the list first: what is listed and not there counts as lost."""
        name = os.path.basename(listed.path)
        self._write({key: value for key, value in self._listed.items() if key != name})
        os.unlink(listed.path)
        files.sync_folder(self.folder)

    def _synced(self) -> dict[str, Length]:
        """Put all copies on disk; how long they all are then."""
        now = dict(self._listed)
        for watched in self._watched.values():
            if watched.edition is not None:
                watched.edition.sync()
                self._list(watched.edition, now)
        return now

    def _list(self, known: Edition, now: dict[str, Length]) -> None:
        name = os.path.basename(known.path)
        before = now.get(name)
        if before is None or known.upto >= before.bytes:  # one that was cut short stays noticed as such
            now[name] = Length(known.upto, known.last_digest)

    def _write(self, now: dict[str, Length]) -> None:
        if now != self._listed:
            lengths.write(self.folder, now)
            self._listed = now

    def _of(self, source: Source) -> _Watched:
        if source.name not in self._watched:
            listed = editions(self.folder, source.name)
            found: Edition | None = None
            if listed and (copied := listed[-1].read()).about is not None:
                found = Edition(listed[-1].path, copied, self._system)
            self._watched[source.name] = _Watched(found)
        return self._watched[source.name]

    def _copy(self, source: Source, watched: _Watched, fd: int, *, thorough: bool) -> int:
        status = os.fstat(fd)
        known = watched.edition
        # A file that replaced another may well begin in the same way: then the edition continues.
        in_full = thorough or watched.look[0] != status.st_ino
        if known is None or known.is_sealed or not known.continues(fd, thorough=in_full):
            known = watched.edition = self._begin(source)
        copied = 0
        while block := _blocks(fd, known.size):
            known.append(block)
            copied += sum(map(len, block))
        watched.look = _look(status)
        return copied

    def _begin(self, source: Source) -> Edition:
        listed = editions(self.folder, source.name)
        number = listed[-1].number + 1 if listed else 1
        path = os.fsencode(source.path).decode("utf-8", "backslashreplace")
        about = About(self._session, source.name, path, source.attempt, number, self._clock())
        begun = Edition.begin(os.path.join(self.folder, f"{source.name}.{number}"), about, self._system)
        now = dict(self._listed)
        self._list(begun, now)
        with contextlib.suppress(OSError):  # the next sync lists it
            self._write(now)
        return begun


def _blocks(fd: int, at: int) -> list[bytes]:
    found: list[bytes] = []
    while sum(map(len, found)) < _AT_ONCE and (block := os.pread(fd, MAX_PAYLOAD, at)):
        found.append(block)
        at += len(block)
    return found


def _make_folder(folder: str) -> None:
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    if not os.path.isdir(folder):
        os.mkdir(folder, 0o700)
        files.sync_folder(os.path.dirname(folder))
    os.chmod(folder, 0o700)
