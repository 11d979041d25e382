"""Folded states kept outside the repository, so that a long journal is not read twice.

A snapshot is trusted only for the same inode, a log that is at least as long, and the same bytes at its beginning and
before the snapshot's end. Anything else, or a damaged snapshot, counts as none.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path

import msgspec

from rekindle import files
from rekindle.core.journal.fold import JournalState

_FORMAT = 10
_HEAD = 4096
_TAIL = 1 << 16
_DIGEST = 16
_CHECKSUM = 4


class _Snapshot(msgspec.Struct):
    format: int
    inode: int
    offset: int
    probe: bytes
    state: JournalState


_decode = msgspec.msgpack.Decoder(_Snapshot).decode


class SnapshotCache:
    """Snapshots in one folder, named after the journal's place. Losing the folder costs time only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self, path: Path, fd: int, size: int) -> tuple[int, JournalState] | None:
        """The offset and state to continue from, if a snapshot fits this log."""
        try:
            raw = files.read(self._file(path))
        except OSError:
            return None
        body = memoryview(raw)[_CHECKSUM:]
        if raw[:_CHECKSUM] != _checksum(body):
            return None
        try:
            kept = _decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        if kept.format != _FORMAT or kept.inode != os.fstat(fd).st_ino or kept.offset > size:
            return None
        if kept.probe != probe(fd, kept.offset):
            return None
        return kept.offset, kept.state

    def store(self, path: Path, fd: int, offset: int, state: JournalState) -> None:
        """Keep a state; a failure is not an error, the next reader only reads more."""
        try:
            for run in state.sids.values():
                run.pack()
            kept = _Snapshot(_FORMAT, os.fstat(fd).st_ino, offset, probe(fd, offset), state)
            body = msgspec.msgpack.encode(kept)
            files.make_private(self._folder)
            files.replace(self._file(path), _checksum(body) + body, mode=0o600)
        except (OSError, UnicodeEncodeError, OverflowError):
            return

    def _file(self, path: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(path.resolve()), digest_size=12).hexdigest()
        return self._folder / f"{name}.snapshot"


def probe(fd: int, offset: int) -> bytes:
    """A digest of the beginning of a log and of what stands before `offset`: whether it is still the same log."""
    tail = max(0, offset - _TAIL)
    return _hash(os.pread(fd, min(_HEAD, offset), 0) + os.pread(fd, offset - tail, tail))


def _checksum(body: bytes | memoryview) -> bytes:
    """Shows that the snapshot itself is not damaged. It has to show no more, and is checked on every reading."""
    return zlib.crc32(body).to_bytes(_CHECKSUM, "big")


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
