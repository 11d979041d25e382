"""What was copied of one session, read with care: what is whole counts, and what is not is told.

A copy may have been damaged, cut, or changed by whoever keeps it. Of a file that grows, what comes before the damage is
true all the same. What stands behind it is left out: it would be taken for what follows.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rekindle.core.off_host import STATE, CopyState, counted, is_growing, is_wanted, newest, stream_of, tree_number
from rekindle.ports.blobs import BlobDamaged, Blobs, Piece


class WholeCopy:
    """Raises BlobError if the copies cannot be reached. `damage` grows as more is read."""

    def __init__(self, blobs: Blobs, session: str) -> None:
        self._blobs = blobs
        self._session = session
        self._streams: dict[str, list[Piece]] = {}
        for piece in sorted(blobs.pieces(session), key=lambda one: one.offset):
            self._streams.setdefault(piece.name, []).append(piece)
        self._editions = newest(self._streams)
        self.damage: list[str] = []

    @property
    def paths(self) -> list[str]:
        """The files of the session's folder."""
        return [path for path in self._editions if is_wanted(path)]

    @property
    def size(self) -> int:
        """How many bytes are there of what counts."""
        return counted({name: sum(one.size for one in pieces) for name, pieces in self._streams.items()})

    def state(self) -> CopyState | None:
        """Where everything belongs; None: nothing was copied. Raises BlobDamaged: nothing can be begun without it."""
        if STATE not in self._editions:
            return None
        stream = stream_of(STATE, self._editions[STATE])
        try:
            return msgspec.json.decode(b"".join(self._opened(stream)), type=CopyState)
        except msgspec.DecodeError as error:
            raise BlobDamaged(
                f"{stream} of session {self._session} cannot be read: {error}", "use the same version on every host"
            ) from error

    def content(self, path: str) -> bytes | None:
        """The last edition of a file, or of one that grows what is whole of it; None: it is not there."""
        data, is_whole = self._whole(stream_of(path, self._editions[path]))
        if is_whole:
            return data
        self.damage.append(f"a part of {path}: its copy is damaged")
        return data if is_growing(path) and data else None

    def bundles(self) -> Iterator[bytes]:
        """The bundles of snapshots, oldest first, up to the first that is not whole: each needs those before it."""
        for stream in sorted(one for one in self._streams if tree_number(one) is not None):
            data, is_whole = self._whole(stream)
            if not is_whole:
                self.damage.append(f"snapshots from {stream} on: a copy of them is damaged")
                return
            yield data

    def _whole(self, stream: str) -> tuple[bytes, bool]:
        found: list[bytes] = []
        try:
            for data in self._opened(stream):
                found.append(data)  # noqa: PERF402 what came before the damage counts
        except BlobDamaged:
            return b"".join(found), False
        return b"".join(found), True

    def _opened(self, stream: str) -> Iterator[bytes]:
        end = 0
        for piece in self._streams[stream]:
            if piece.offset != end:
                raise BlobDamaged(f"{stream} of session {self._session} lacks what follows {end} bytes")
            yield self._blobs.data(self._session, piece)
            end = piece.end
