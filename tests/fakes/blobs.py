"""Bytes of sessions in memory, for hosts that share one `Shelf`."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from rekindle.ports.blobs import BlobDamaged, BlobError, BlobFenced, Piece, checked, is_there


@dataclass
class Shelf:
    """What all hosts see. `is_away`: nobody can reach it."""

    fences: dict[str, int] = field(default_factory=dict)
    kept: dict[str, dict[Piece, bytes]] = field(default_factory=dict)
    is_away: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)


class FakeBlobs:
    """See `rekindle.ports.blobs.Blobs`."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def claim(self, session: str, attempt: int) -> None:
        with self._shelf.lock:
            self._check(session, attempt)
            self._shelf.fences[session] = attempt

    def add(self, session: str, piece: Piece, data: bytes) -> None:
        checked(piece, data)
        with self._shelf.lock:
            self._check(session, piece.attempt)
            if self._shelf.fences.get(session) != piece.attempt:
                raise BlobError("not claimed")
            if not is_there(piece, self.pieces(session)):
                self._shelf.kept.setdefault(session, {})[piece] = data

    def pieces(self, session: str) -> list[Piece]:
        if self._shelf.is_away:
            raise BlobError("away")
        with self._shelf.lock:
            return sorted(self._shelf.kept.get(session, {}), key=lambda one: (one.name, one.offset))

    def data(self, session: str, piece: Piece) -> bytes:
        if self._shelf.is_away:
            raise BlobError("away")
        if piece not in self._shelf.kept.get(session, {}):
            raise BlobDamaged("gone")
        return self._shelf.kept[session][piece]

    def close(self) -> None:
        pass

    def _check(self, session: str, attempt: int) -> None:
        if self._shelf.is_away:
            raise BlobError("away")
        if self._shelf.fences.get(session, 0) > attempt:
            raise BlobFenced("a later attempt has it")
