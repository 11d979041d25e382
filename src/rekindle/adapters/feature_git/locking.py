"""Lock files that block a feature: stale ones are removed where only we write, all others are reported.

A worktree in the feature's folder is ours and its agents'. The branches, `packed-refs` and the configuration are the
user's too: before we touch them we leave a note, so that a lock left by a killed git of ours is recognised.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from rekindle import files
from rekindle.adapters.git import locks as git_locks
from rekindle.adapters.git.private_index import FOLDER
from rekindle.core.git_locks import Lock, remedy
from rekindle.files import is_below
from rekindle.ports.errors import GitKilled, GitLocked

#: Only rekindle writes below these refs.
_PRIVATE = "refs/rekindle/"
_SHARED_FILES = ("packed-refs", "config")


@dataclass(frozen=True)
class Locks:
    """The lock files of one repository, as one feature sees them. `tell` is for what a person should know."""

    root: str
    common: str
    trees: str
    feature: str
    tell: Callable[[str], None]

    def unlock(self, path: str) -> bool:
        """Wait for a lock file that made git fail; True if it is gone. Raises GitLocked."""
        return self._free(path, ours=self._is_private(path))

    @contextlib.contextmanager
    def moving(self, *names: str) -> Iterator[None]:
        """Change refs, `packed-refs` or `config`, which are the user's too. Locks that a killed git of ours left go."""
        notes = {name: self._note(name) for name in names if not name.startswith(_PRIVATE)}
        for name, note in notes.items():
            if os.path.exists(note):
                self._free(os.path.join(self.common, f"{name}.lock"), ours=True)
        left = [note for note in notes.values() if _leave(note)]
        try:
            yield
        except GitKilled:
            raise  # a lock that it left is ours: the notes stay
        except BaseException:
            _forget(left)
            raise
        _forget(left)

    def left(self, branches: Collection[str]) -> list[Lock]:
        """Locks of others that block some branches, after watching them."""
        names = (*_SHARED_FILES, *(f"refs/heads/{branch}" for branch in branches))
        paths = [os.path.join(self.common, f"{name}.lock") for name in names if not os.path.exists(self._note(name))]
        return git_locks.watch(paths, self._workplaces())

    def _free(self, path: str, *, ours: bool) -> bool:
        found = git_locks.watch([path], self._workplaces())
        if not found:
            return True
        [lock] = found
        if not lock.may_go:
            raise GitLocked(
                f"git waits for {lock.sentence}", "end that process, or wait for it; then resume the feature"
            )
        if not (ours and lock.is_dead):
            raise GitLocked(f"a lock was left behind: {lock.sentence}", remedy(self.feature))
        if git_locks.remove(lock):
            self.tell(f"a lock that a killed git had left was removed: {lock.sentence}")
        return True

    def _workplaces(self) -> set[str]:
        return git_locks.workplaces(self.root, self.common)

    def _note(self, name: str) -> str:
        digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:20]
        return os.path.join(self.common, FOLDER, "moving", digest)

    def _is_private(self, lock: str) -> bool:
        """Whether a lock file is where only rekindle and its agents write."""
        name = os.path.relpath(os.path.realpath(lock), os.path.realpath(self.common))
        parts = name.split(os.sep)
        if parts[0] != "worktrees" or len(parts) < 3:
            return name.startswith(_PRIVATE)
        try:
            with open(os.path.join(self.common, *parts[:2], "gitdir"), "rb") as file:
                tree = os.path.dirname(os.fsdecode(file.read().strip()))
        except OSError:
            return False
        return is_below(os.path.realpath(tree), os.path.realpath(self.trees))


def _leave(note: str) -> bool:
    """Leave an empty note; False if that is not possible. Never opens or creates anything through a link."""
    folder = os.path.dirname(note)
    try:
        files.make_own(os.path.dirname(folder))
        files.make_own(folder)
        os.close(os.open(note, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600))
    except OSError:
        return False
    return True


def _forget(notes: Collection[str]) -> None:
    for note in notes:
        with contextlib.suppress(OSError):
            os.unlink(note)
