"""Where a session's bytes are kept off its host: what was said, the agent's record, the work tree.

A session's bytes are named streams that only grow, in pieces. Each piece is added in the name of an attempt. Once a
later attempt has claimed the session, whoever speaks for an earlier one is refused: it has lost the session, and what
it would add belongs to no successor's conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rekindle.ports.errors import OwnedError, RekindleError

#: A piece may not be larger than this; a longer content takes several.
LARGEST_PIECE = 8 << 20
#: What is kept of a piece is larger than the piece, because it is sealed. More than this is not one of ours.
LARGEST_KEPT = LARGEST_PIECE + 1024
_LONGEST_NAME = 200


class BlobError(RekindleError):
    """What is kept off the host cannot be reached, or is not what was put there."""

    code = "blobs"


class BlobFenced(OwnedError):
    """A later attempt has the session now."""

    code = "blob_fenced"


class BlobDamaged(BlobError):
    """A piece is gone, or is not what was put there. To ask again changes nothing."""

    code = "blob_damaged"


class BlobGap(BlobError):
    """A piece does not follow the one before it."""

    code = "blob_gap"


@dataclass(frozen=True)
class Piece:
    """One piece of a stream: where it begins and how long it is, before it was sealed, and whose it is."""

    name: str
    offset: int
    size: int
    attempt: int

    @property
    def end(self) -> int:
        """Where the next piece begins."""
        return self.offset + self.size


class Blobs(Protocol):
    """Blocking. Any call raises BlobError if what is kept cannot be reached now."""

    def claim(self, session: str, attempt: int) -> None:
        """From now on only this attempt, or a later one, may add something. Raises BlobFenced if a later one has it.

        What was added until now can be read, and nothing is added to it afterwards by an earlier attempt. Claiming
        again changes nothing.
        """
        ...

    def add(self, session: str, piece: Piece, data: bytes) -> None:
        """Add a piece to the end of its stream; kept when this returns. The attempt has to have claimed the session.

        Adding what is there already changes nothing, so that a lost answer can be asked for again. Raises BlobFenced
        and BlobGap.
        """
        ...

    def pieces(self, session: str) -> list[Piece]:
        """All pieces of a session, by name and place. None if nothing was ever added."""
        ...

    def data(self, session: str, piece: Piece) -> bytes:
        """The content of a piece, as it was added. Raises BlobDamaged if it is not that, or is gone."""
        ...

    def close(self) -> None:
        """Release what is held."""
        ...


def why_not_name(name: str) -> str | None:
    """Why a stream cannot have this name; None if it can. It becomes part of a file's name, or of a row's."""
    if not name or len(name) > _LONGEST_NAME:
        return "is empty or too long"
    if not all(one.isascii() and (one.isalnum() or one in "._-/@") for one in name):
        return "has characters that a name cannot have"
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "is not a plain path"
    return None


def checked(piece: Piece, data: bytes) -> None:
    """Refuse what no adapter can keep. Raises BlobError."""
    problem = why_not_name(piece.name)
    if problem is not None:
        raise BlobError(f"the name {piece.name!r} {problem}")
    if piece.offset < 0 or not 0 < piece.size <= LARGEST_PIECE or len(data) > LARGEST_PIECE + 1024:
        raise BlobError(f"a piece of {piece.size} bytes at {piece.offset} cannot be kept")


def following(name: str, known: list[Piece]) -> int:
    """Where the next piece of a stream begins."""
    return max((one.end for one in known if one.name == name), default=0)


def is_there(piece: Piece, known: list[Piece]) -> bool:
    """Whether a piece was added already. Raises BlobGap if it neither was nor follows the last one."""
    if any((one.name, one.offset, one.size) == (piece.name, piece.offset, piece.size) for one in known):
        return True
    end = following(piece.name, known)
    if piece.offset != end:
        raise BlobGap(f"{piece.name} has {end} bytes; this piece begins at {piece.offset}", "look again, then add")
    return False
