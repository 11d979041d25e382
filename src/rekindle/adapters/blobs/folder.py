"""Bytes of sessions in a folder that all hosts mount. See `rekindle.ports.blobs.Blobs`.

    SESSION/a<attempt>/        the attempt that has the session, with what it added
    SESSION/c<attempt>/        one that has lost it
    .../inherits               what counted of all earlier attempts when it was claimed
    .../p<offset>-<size>~NAME  one piece (`/` in a name is written `=`)

No locks: a host that hangs with one would hold up its successor. Whoever claims a session renames the folder of the
attempt before, so that nothing can be added under its name; what still gets in, through a handle that is already open,
is on nobody's list.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
from contextlib import suppress
from typing import Final

import msgspec

from rekindle import files
from rekindle.ports.blobs import LARGEST_KEPT, BlobDamaged, BlobError, BlobFenced, Piece, checked, is_there

_FOLDER: Final = re.compile(r"([ac])(\d{1,9})")
_PIECE: Final = re.compile(r"p(\d{1,18})-(\d{1,9})~([A-Za-z0-9._=@-]{1,200})")
_SESSION: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_INHERITS: Final = "inherits"
#: Longer than the list of any session.
_LONGEST_LIST: Final = 256 << 20
#: What the system says of a link, a folder, a pipe or something huge in the place of a piece.
_PLANTED: Final = (errno.ELOOP, errno.EFBIG, errno.EINVAL, errno.EISDIR, errno.ENOTDIR, errno.ENXIO)
#: The attempt in whose folder a piece lies, and its name, place, size and attempt.
_Inherited = tuple[int, str, int, int, int]


class FolderBlobs:
    """`root` is for its owner only."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._added: dict[tuple[str, int], list[Piece]] = {}

    def claim(self, session: str, attempt: int) -> None:
        """Close the folders of earlier attempts, and open one for this attempt."""
        base = self._base(session)
        try:
            files.make_private(self._root)
            files.make_private(base)
            self._refuse_late(session, base, attempt)
            if os.path.isdir(os.path.join(base, f"a{attempt}")):
                return
            for number in (one for state, one in _attempts(base) if state == "a" and one < attempt):
                with suppress(FileNotFoundError, OSError):
                    os.rename(os.path.join(base, f"a{number}"), os.path.join(base, f"c{number}"))
            self._open(base, attempt, self._counted(base))
            self._refuse_late(session, base, attempt)  # somebody later may have come meanwhile
        except OSError as error:
            raise self._away(error) from error

    def _open(self, base: str, attempt: int, inherited: list[tuple[int, Piece]]) -> None:
        fresh = os.path.join(base, f"new-{secrets.token_hex(8)}")
        files.make_private(fresh)
        rows = [[home, one.name, one.offset, one.size, one.attempt] for home, one in inherited]
        files.replace(os.path.join(fresh, _INHERITS), json.dumps(rows).encode(), mode=0o600, durable=True)
        try:
            os.rename(fresh, os.path.join(base, f"a{attempt}"))
        except OSError:  # somebody has just claimed the same
            os.unlink(os.path.join(fresh, _INHERITS))
            os.rmdir(fresh)
        files.sync_folder(base)

    def add(self, session: str, piece: Piece, data: bytes) -> None:
        """Write a piece beside its place, and rename it there: it is whole, or not there."""
        checked(piece, data)
        base = self._base(session)
        home = os.path.join(base, f"a{piece.attempt}")
        try:
            self._refuse_late(session, base, piece.attempt)
            if is_there(piece, self._known(session, base, piece.attempt)):
                return
            fresh = os.path.join(home, f"t-{secrets.token_hex(8)}")
            files.replace(fresh, data, mode=0o600, durable=True)
            os.rename(fresh, os.path.join(home, _file_of(piece)))
            files.sync_folder(home)
            # A successor that came before the rename does not count it; one that comes now does.
            self._refuse_late(session, base, piece.attempt)
        except FileNotFoundError as error:
            self._refuse_late(session, base, piece.attempt)
            raise BlobError(f"attempt {piece.attempt} has not claimed session {session}", "claim it first") from error
        except OSError as error:
            raise self._away(error) from error
        self._added[session, piece.attempt].append(piece)

    def pieces(self, session: str) -> list[Piece]:
        """What counts: the pieces of the newest attempt, and those that it found."""
        try:
            found = [piece for _, piece in self._counted(self._base(session))]
        except OSError as error:
            raise self._away(error) from error
        return sorted(found, key=lambda one: (one.name, one.offset))

    def data(self, session: str, piece: Piece) -> bytes:
        """The content of a piece."""
        base = self._base(session)
        try:
            name = _file_of(piece)
            # It lies where its attempt has put it: a long session has too many to list them for each. The last look is
            # for a folder that was closed between the first two.
            for state in "cac":
                path = os.path.join(base, f"{state}{piece.attempt}", name)
                with suppress(FileNotFoundError):
                    return files.read_short(path, LARGEST_KEPT)
        except OSError as error:
            if error.errno not in _PLANTED:
                raise self._away(error) from error
            raise BlobDamaged(
                f"{piece.name} of session {session}, at {piece.offset}, is not a file of ours: {error.strerror}",
                "what is in that folder was changed; put it back",
            ) from error
        raise BlobDamaged(f"{piece.name} of session {session}, at {piece.offset}, is gone")

    def close(self) -> None:
        """Nothing is held."""

    def _known(self, session: str, base: str, attempt: int) -> list[Piece]:
        """What is there, for the only writer of this attempt. Only it adds something, so it looks once."""
        if (session, attempt) not in self._added:
            if not os.path.isdir(os.path.join(base, f"a{attempt}")):
                raise FileNotFoundError
            self._added[session, attempt] = [piece for _, piece in self._counted(base)]
        return self._added[session, attempt]

    def _counted(self, base: str) -> list[tuple[int, Piece]]:
        """The pieces that count, each with the attempt in whose folder it lies."""
        attempts = _attempts(base)
        if not attempts:
            return []
        state, newest = max(attempts, key=lambda one: one[1])
        home = os.path.join(base, f"{state}{newest}")
        try:
            rows = msgspec.json.decode(
                files.read_short(os.path.join(home, _INHERITS), _LONGEST_LIST), type=list[_Inherited]
            )
        except msgspec.DecodeError as error:
            raise BlobDamaged(
                f"{home}/{_INHERITS} cannot be read: {error}", "what is in that folder was changed; put it back"
            ) from error
        found = [(row[0], Piece(*row[1:])) for row in rows]
        for name in os.listdir(home):
            if match := _PIECE.fullmatch(name):
                place = Piece(match[3].replace("=", "/"), int(match[1]), int(match[2]), newest)
                found.append((newest, place))
        return found

    def _refuse_late(self, session: str, base: str, attempt: int) -> None:
        later = [number for state, number in _attempts(base) if number > attempt or (state, number) == ("c", attempt)]
        if later:
            raise BlobFenced(
                f"attempt {max(later)} has session {session}; this is attempt {attempt}",
                "another host has taken it over: this one lets it go",
            )

    def _base(self, session: str) -> str:
        if _SESSION.fullmatch(session) is None:
            raise BlobError(f"{session!r} cannot be the name of a folder")
        return os.path.join(self._root, session)

    def _away(self, error: OSError) -> BlobError:
        return BlobError(
            f"{self._root} cannot be used: {error.strerror or error}", "see whether it is mounted, and has room"
        )


def _file_of(piece: Piece) -> str:
    return f"p{piece.offset}-{piece.size}~{piece.name.replace('/', '=')}"


def _attempts(base: str) -> list[tuple[str, int]]:
    try:
        names = os.listdir(base)
    except FileNotFoundError:
        return []
    return [(match[1], int(match[2])) for match in map(_FOLDER.fullmatch, names) if match]
