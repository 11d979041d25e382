"""Seals what leaves a host with the key of the fleet: whoever keeps it can neither read it nor put it elsewhere.

Each session has a key of its own, derived from the fleet's. What is sealed is bound to its session, attempt, stream and
place (associated data of AES-GCM): a piece that was changed, swapped or moved is not opened. Needs `cryptography`.
"""

from __future__ import annotations

import json
import os
import secrets
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from rekindle.adapters.machine.secret_file import read_secret
from rekindle.ports.blobs import BlobDamaged, BlobError, Blobs, Piece
from rekindle.ports.errors import UsageError

_NONCE: Final = 12
_KEY: Final = 32
_MARK: Final = b"RKB1"


class SealedBlobs:
    """See `rekindle.ports.blobs.Blobs`. `inner` keeps what this seals."""

    def __init__(self, inner: Blobs, key: bytes) -> None:
        self._inner = inner
        self._key = key

    def claim(self, session: str, attempt: int) -> None:
        """From now on only this attempt, or a later one, may add something."""
        self._inner.claim(session, attempt)

    def add(self, session: str, piece: Piece, data: bytes) -> None:
        """Seal a piece, and add it."""
        if len(data) != piece.size:
            raise BlobError(f"a piece of {piece.size} bytes has {len(data)}")
        nonce = secrets.token_bytes(_NONCE)
        sealed = AESGCM(self._of(session)).encrypt(nonce, data, _bound(session, piece))
        self._inner.add(session, piece, _MARK + nonce + sealed)

    def pieces(self, session: str) -> list[Piece]:
        """All pieces of a session."""
        return self._inner.pieces(session)

    def data(self, session: str, piece: Piece) -> bytes:
        """Open a piece."""
        sealed = self._inner.data(session, piece)
        nonce, content = sealed[len(_MARK) : len(_MARK) + _NONCE], sealed[len(_MARK) + _NONCE :]
        try:
            if not sealed.startswith(_MARK):
                raise InvalidTag
            opened = AESGCM(self._of(session)).decrypt(nonce, content, _bound(session, piece))
        except (InvalidTag, ValueError) as error:
            raise BlobDamaged(
                f"{piece.name} of session {session}, at {piece.offset}, was changed, or was sealed with another key",
                "see whether every host has the same fleet_key_file",
            ) from error
        if len(opened) != piece.size:
            raise BlobDamaged(f"{piece.name} of session {session}, at {piece.offset}, has another length")
        return opened

    def close(self) -> None:
        """Release what is held."""
        self._inner.close()

    def _of(self, session: str) -> bytes:
        """The session's own key: so many pieces with random nonces are safe only under one key each."""
        return HKDF(SHA256(), _KEY, salt=None, info=b"rekindle blobs 1 " + session.encode()).derive(self._key)


def make_key(path: str) -> None:
    """Make a key for a new fleet, in a file for its owner only. Raises UsageError if the file exists."""
    try:
        os.makedirs(os.path.dirname(path) or ".", 0o700, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError as error:
        raise UsageError(
            f"{path} exists already", "a key is never replaced: name a new file, or use that one"
        ) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}", "name a new file in a folder of yours") from error
    with os.fdopen(fd, "w") as file:
        file.write(secrets.token_hex(_KEY) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_key(path: str) -> bytes:
    """The key of the fleet, from a file that nobody else can read. Raises UsageError."""
    text = read_secret(path, "fleet_key_file")
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _KEY:
        raise UsageError(
            f"{path} is not a key of a fleet", "make one on one host (rekindle fleet key FILE), then copy it"
        )
    return key


def key_mark(key: bytes) -> str:
    """What tells one key from another, and says nothing about it."""
    return HKDF(SHA256(), 16, salt=None, info=b"rekindle key mark 1").derive(key).hex()


def _bound(session: str, piece: Piece) -> bytes:
    return json.dumps([session, piece.attempt, piece.name, piece.offset]).encode()
