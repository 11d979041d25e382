"""One edition: a file of frames that holds one source from its first byte on, for as long as it only grew."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from rekindle import files
from rekindle.core.vault import frames
from rekindle.core.vault.frames import Kind, VaultFrame

EDGE = 4096


class About(msgspec.Struct, frozen=True):
    """What an edition is a copy of: the first frame of its file."""

    session: str
    source: str
    path: str
    attempt: int
    edition: int
    begun_at: float


class EditionCalls:
    """The calls that durability depends on, in one place, so that a test can watch their order and make them fail."""

    write: Callable[[int, bytes, int], int] = staticmethod(os.pwrite)
    sync: Callable[[int], None] = staticmethod(os.fdatasync)
    truncate: Callable[[int, int], None] = staticmethod(os.ftruncate)


@dataclass(frozen=True)
class EditionContent:
    """An edition as it was read. `about` is None where the file does not even tell what it is."""

    about: About | None
    data: bytes
    is_whole: bool
    scan: frames.Scan


def read(path: str) -> EditionContent:
    """Read and check an edition; never raises for what is in it. Raises OSError."""
    scan = frames.scan(files.read(path))
    about: About | None = None
    data = bytearray()
    is_whole = not scan.damage
    for found in scan.frames:
        if found.frame.kind is Kind.ABOUT:
            about = about or _about(found.frame.payload)
        elif found.frame.offset == len(data):
            data += found.frame.payload
        else:
            is_whole = False
            break
    return EditionContent(about, bytes(data), is_whole and about is not None, scan)


def unreadable(why: str) -> EditionContent:
    """An edition of which nothing can be read."""
    damage = (frames.Damage(0, 0, f"it cannot be read ({why})"),)
    return EditionContent(None, b"", False, frames.Scan((), damage, 0, frames.START, None))


def _about(payload: bytes) -> About | None:
    try:
        return msgspec.json.decode(payload, type=About)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class Edition:
    """An edition that grows. One writer, who holds the vault's lock. Nothing is kept open between two calls."""

    def __init__(self, path: str, copied: EditionContent, system: EditionCalls) -> None:
        assert copied.about is not None
        self.path = path
        self.about = copied.about
        self.size = len(copied.data)
        self.is_sealed = not copied.is_whole
        self._system = system
        self._upto = copied.scan.good_upto
        self._digest = copied.scan.digest
        self._hash = hashlib.sha256(copied.data)
        self._head = copied.data[:EDGE]
        self._tail = copied.data[-EDGE:]
        self._is_synced = False  # by us; its writer may have died before syncing

    @classmethod
    def begin(cls, path: str, about: About, system: EditionCalls) -> Edition:
        """Make the file. It is in its folder's listing, for good, before anything is put into it."""
        payload = msgspec.json.encode(about)
        frame = frames.encode(VaultFrame(Kind.ABOUT, about.attempt, about.source, 0, payload), frames.START)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _write(system, fd, frame, 0)
            system.sync(fd)
        finally:
            os.close(fd)
        files.sync_folder(os.path.dirname(path))
        return cls(path, read(path), system)

    @property
    def upto(self) -> int:
        """How long the file is, up to the end of its last whole frame."""
        return self._upto

    @property
    def last_digest(self) -> str:
        """The digest of its last frame, which vouches for the whole file."""
        return self._digest.hex()

    @property
    def digest(self) -> str:
        """The hash of all that was copied."""
        return self._hash.hexdigest()

    def continues(self, fd: int, *, thorough: bool) -> bool:
        """Whether the file behind `fd` still begins with what was copied: its edges, or all of it."""
        if thorough:
            return hash_of(fd, self.size) == self.digest
        at = self.size - len(self._tail)
        return os.pread(fd, len(self._head), 0) == self._head and os.pread(fd, len(self._tail), at) == self._tail

    def append(self, blocks: list[bytes]) -> None:
        """Put what comes next behind the rest; what a writer who died left half-written is cut off first."""
        if not blocks:
            return
        fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if os.fstat(fd).st_size != self._upto:
                self._system.truncate(fd, self._upto)
            for block in blocks:
                self._append(fd, block)
        finally:
            os.close(fd)

    def _append(self, fd: int, block: bytes) -> None:
        frame = VaultFrame(Kind.BYTES, self.about.attempt, self.about.source, self.size, block)
        data = frames.encode(frame, self._digest)
        self._is_synced = False
        try:
            _write(self._system, fd, data, self._upto)
        except OSError:
            self._system.truncate(fd, self._upto)
            raise
        self._upto += len(data)
        self._digest = data[-frames.DIGEST :]
        self.size += len(block)
        self._hash.update(block)
        self._head = (self._head + block)[:EDGE] if len(self._head) < EDGE else self._head
        self._tail = (self._tail + block)[-EDGE:]

    def sync(self) -> None:
        """All that was appended is on disk when this returns."""
        if self._is_synced:
            return
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._system.sync(fd)
        finally:
            os.close(fd)
        self._is_synced = True


def hash_of(fd: int, size: int) -> str | None:
    """The hash of the first `size` bytes of a file; None if it has fewer."""
    found, at = hashlib.sha256(), 0
    while at < size:
        block = os.pread(fd, min(frames.MAX_PAYLOAD, size - at), at)
        if not block:
            return None
        found.update(block)
        at += len(block)
    return found.hexdigest()


def _write(system: EditionCalls, fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        done = system.write(fd, bytes(view), at)
        view, at = view[done:], at + done
