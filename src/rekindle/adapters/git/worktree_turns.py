"""Lets one at a time change the worktrees of a repository: git fails on a worktree that another git has half made.

`steps` is for the threads of one process, around a step that looks first and then acts. `changing` is around each git
command that adds or removes a worktree, and holds in all processes of rekindle. The user's own git takes no turn. So a
call that failed on a half-made worktree is also repeated (`Git.run`).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Iterator

from rekindle import files
from rekindle.adapters.git import repository
from rekindle.adapters.git.private_index import FOLDER
from rekindle.ports.errors import RekindleError

#: How long to wait for another process. It may be stopped: then we go on, and repeat what fails.
PATIENCE = 60.0
_NAME = "worktrees.lock"
#: What git writes into the `commondir` of every worktree.
_COMMON = b"../..\n"
_STEPS: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)


def steps(common: str) -> threading.RLock:
    """The lock of a repository's worktrees in this process. A thread may take it again."""
    return _STEPS[os.path.realpath(common)]


@contextlib.contextmanager
def changing(folder: str) -> Iterator[None]:
    """Have the turn in the repository around a folder. Where no lock file can be made, nobody waits."""
    fd = _opened(folder)
    try:
        if fd is not None:
            with contextlib.suppress(OSError):
                files.lock_within(fd, PATIENCE)
        yield
    finally:
        if fd is not None:
            os.close(fd)


def complete(folder: str, name: str) -> bool:
    """Finish the `commondir` file of a worktree whose git was killed before it wrote it; True if that was needed.

    Until then every git that lists worktrees fails. What is written is what git would have written.
    """
    common = _common(folder)
    if common is None:
        return False
    with contextlib.suppress(OSError):
        entry = files.open_folder(common, os.path.join("worktrees", name))
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            fd = os.open("commondir", flags, dir_fd=entry)
            try:
                if os.fstat(fd).st_size == 0:
                    return os.write(fd, _COMMON) == len(_COMMON)
            finally:
                os.close(fd)
        finally:
            os.close(entry)
    return False


def _opened(folder: str) -> int | None:
    common = _common(folder)
    if common is None:
        return None
    try:
        files.make_own(os.path.join(common, FOLDER))
        return files.open_to_append(os.path.join(common, FOLDER, _NAME), common)
    except OSError:
        return None


def _common(folder: str) -> str | None:
    try:
        found = repository.find(folder)
    except (OSError, RekindleError):
        return None
    return found.common if found is not None else None
