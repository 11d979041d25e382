"""The index of its own that a session keeps between snapshots, so that git does not read again what it has read.

It lies in the worktree's git folder, on the disk that the files are on: git tells entries that may be stale by
comparing the index's time with theirs, and one clock has to have given both. It is always used as a copy, and replaced
as a whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from rekindle import files
from rekindle.ports.errors import GitFailed

FOLDER = "rekindle"
_FRAGMENT = 1 << 20
_SCRATCH = "tmp-"
#: A file that changes later than this after the index was written has another time than the index knows, whatever
#: the clock's grain.
_GRAIN_SECONDS = 2.0
_STALE_SECONDS = 86_400.0
_UNUSED_SECONDS = 7 * 86_400.0


class _Noted(msgspec.Struct, frozen=True):
    """What an index stands for: the tree, the files that it was made from and under, what it lacks of the user's."""

    tree: str
    index: list[int]
    sources: list[list[int]]
    dropped: list[bytes]


class PrivateIndex:
    """A copy to work on."""

    def __init__(self, folder: str, scratch: str, session: str, sources: list[str]) -> None:
        self.path = os.path.join(scratch, "index")
        #: paths that the user's index may have, and this one has not, because they were not there
        self.dropped: list[bytes] = []
        self._stands_for: str | None = None
        self._kept = os.path.join(folder, f"index-{session}")
        self._note = os.path.join(folder, f"index-{session}.json")
        self._users = sources[0]
        self._stamps = [_stamp(path) for path in sources]
        self._begun = time.time()

    def recall(self, tree: str) -> bool:
        """Use the index of the last snapshot, if there is one and it matches `tree`."""
        try:
            with open(self._note, "rb") as file:
                noted = msgspec.json.decode(file.read(), type=_Noted)
        except (OSError, msgspec.DecodeError):
            return False
        if noted.tree != tree or noted.sources != self._stamps or noted.index != _stamp(self._kept):
            return False
        if not _copy(self._kept, self.path):
            return False
        self._stands_for, self.dropped = tree, noted.dropped
        return True

    def begin_with_the_users(self) -> bool:
        """Use the user's index as it is. False if there is none."""
        self.discard()
        return _copy(self._users, self.path)

    def discard(self) -> None:
        """Start with nothing."""
        self._stands_for, self.dropped = None, []
        if os.path.lexists(self.path):
            os.unlink(self.path)

    def keep(self, tree: str) -> None:
        """Remember the index as it is now. It only saves time, so a failure does not matter."""
        if self._stands_for == tree:
            # All of it was compared with the files after `_begun`; from then on its entries are not in doubt any more.
            if self._begun - os.stat(self.path).st_mtime < _GRAIN_SECONDS:
                return
            os.utime(self.path, (self._begun, self._begun))
        try:
            os.replace(self.path, self._kept)
            noted = _Noted(tree, _stamp(self._kept), self._stamps, sorted(set(self.dropped)))
            with open(self.path, "wb") as file:
                file.write(msgspec.json.encode(noted))
            os.replace(self.path, self._note)
        except OSError:
            return


@contextmanager
def borrowed(git_dir: str, session: str, sources: list[str]) -> Iterator[PrivateIndex]:
    """The session's index, as a copy that is gone afterwards. `sources`: the user's index, and what else decides."""
    folder = os.path.join(git_dir, FOLDER)
    try:
        files.make_own(folder)
    except OSError as error:
        raise GitFailed(f"{folder}: {error.strerror}", "move it away, then try again") from error
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
        yield PrivateIndex(folder, scratch, session, sources)


def clean(git_dir: str, now: float) -> None:
    """Remove what a killed process left behind, and indexes that nobody has used for a week."""
    folder = os.path.join(git_dir, FOLDER)
    try:
        found = list(os.scandir(folder)) if not os.path.islink(folder) else []
    except OSError:
        return
    for entry in found:
        try:
            age = now - entry.stat(follow_symlinks=False).st_mtime
        except OSError:
            continue
        if entry.name.startswith(_SCRATCH) and age > _STALE_SECONDS:
            shutil.rmtree(entry.path, ignore_errors=True)
        elif entry.name.startswith("index-") and age > _UNUSED_SECONDS:
            os.unlink(entry.path)


def _stamp(path: str) -> list[int]:
    """Changes whenever the file does; empty if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _copy(source: str, to: str) -> bool:
    """Copy with the time of change: git takes entries as young as the index for possibly stale."""
    try:
        with open(source, "rb") as theirs, open(to, "wb") as copy:
            shutil.copyfileobj(theirs, copy, _FRAGMENT)
            found = os.fstat(theirs.fileno())
    except FileNotFoundError:
        return False
    os.utime(to, ns=(found.st_atime_ns, found.st_mtime_ns))
    return True
