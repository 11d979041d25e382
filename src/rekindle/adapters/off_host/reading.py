"""Makes what another host has copied of a session readable here, and keeps it up to date while somebody reads.

It claims nothing and changes nothing of the session. The folder has what the one reader of conversations needs, and can
be removed at any time.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil

from rekindle import files
from rekindle.adapters.session_folder.session_file import is_in_terminal
from rekindle.core.off_host import is_growing, is_wanted, newest, stream_of
from rekindle.ports.blobs import BlobError, Blobs, Piece

#: How long a copy is kept that nobody reads.
_UNREAD_SECONDS = 86400.0
_VAULT = "vault/"


class CopyReader:
    """`folder` has a folder for each session that was read. One call at a time for a session."""

    def __init__(self, blobs: Blobs, folder: str) -> None:
        self._blobs = blobs
        self._folder = folder
        self._swept = False

    def read(self, session: str, now: float) -> str:
        """Bring the copy of a session up to date; returns its folder. Raises BlobError."""
        self._sweep(now)
        folder = os.path.join(self._folder, session)
        if os.path.dirname(os.path.normpath(folder)) != os.path.normpath(self._folder):
            raise BlobError(f"{session!r} is not the name of a session")
        files.make_private(folder)
        os.utime(folder, (now, now))
        known = _known(f"{folder}.json")
        pieces = self._blobs.pieces(session)
        editions = {path: one for path, one in newest(one.name for one in pieces).items() if is_wanted(path)}
        for path, edition in sorted(editions.items()):
            if not path.startswith(_VAULT):
                self._bring(session, folder, path, edition, known, pieces)
        if is_in_terminal(folder):  # what was said is in the agent's own record
            for path, edition in sorted(editions.items()):
                if path.startswith(_VAULT):
                    self._bring(session, folder, path, edition, known, pieces)
        files.replace(f"{folder}.json", json.dumps(known).encode(), mode=0o600, durable=False)
        return folder

    def _bring(
        self, session: str, folder: str, path: str, edition: int, known: dict[str, int], pieces: list[Piece]
    ) -> None:
        target = os.path.join(folder, *path.split("/"))
        files.make_private(os.path.dirname(target))
        stream = stream_of(path, edition)
        found = sorted((one for one in pieces if one.name == stream), key=lambda one: one.offset)
        if not is_growing(path):
            if known.get(path) != edition:
                data = b"".join(self._blobs.data(session, one) for one in found)
                files.replace(target, data, mode=0o600, durable=False)
                known[path] = edition
            return
        if known.get(path) != edition and os.path.lexists(target):
            os.unlink(target)
        known[path] = edition
        fd = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            for one in found:
                if one.end > size:
                    data = self._blobs.data(session, one)[max(0, size - one.offset) :]
                    size += os.write(fd, data)
        finally:
            os.close(fd)

    def _sweep(self, now: float) -> None:
        """Remove copies that nobody has read for a day, once in a daemon's life."""
        if self._swept or not os.path.isdir(self._folder):
            self._swept = True
            return
        self._swept = True
        for name in os.listdir(self._folder):
            path = os.path.join(self._folder, name)
            if os.path.isdir(path) and now - os.stat(path).st_mtime > _UNREAD_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{path}.json")


def _known(path: str) -> dict[str, int]:
    """Which edition of each file is there. What cannot be read is made anew."""
    try:
        found = json.loads(files.read(path))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
