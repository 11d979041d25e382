"""The journal's lock: taken on the file itself, and only on the file that is in its place now."""

from __future__ import annotations

import fcntl
import os
import time

from rekindle.adapters import files


class AppendError(Exception):
    """The event was not written, or is not known to be on disk. Says what to do next in `hint`."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def open_locked(path: str, fd: int, seconds: float) -> int:
    """The journal, open and locked: `fd` if that is still the file at `path`, else a new descriptor (fd is closed).

    A repair may have put a new file in the place of the one that was open; writing to the old one would lose the event.
    """
    while True:
        if fd < 0:
            try:
                files.make_folder(os.path.dirname(path))
                fd = files.open_to_append(path)
            except OSError as error:
                raise AppendError(
                    "journal_unwritable",
                    f"{path}: cannot be opened for writing ({error.strerror})",
                    "check the progress folder: permissions, links, anything in the way",
                ) from error
        try:
            take(path, fd, seconds)
            here = os.fstat(fd).st_ino
            try:
                there = os.stat(path).st_ino
            except FileNotFoundError:
                there = -1
        except BaseException:
            os.close(fd)
            raise
        if here == there:
            return fd
        os.close(fd)
        fd = -1


def take(path: str, fd: int, seconds: float) -> None:
    """Wait for the lock, but not for ever: a stopped process may hold it."""
    deadline = 0.0
    pause = 0.00005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            now = time.monotonic()
            deadline = deadline or now + seconds
            if now >= deadline:
                raise AppendError(
                    "journal_locked",
                    f"{path}: another process has held the journal's lock for {seconds:g} s",
                    "find it with `fuser` on that file; a stopped process goes on with `kill -CONT`",
                ) from None
            time.sleep(pause)
            pause = min(pause * 1.3, 0.002)
        except OSError as error:
            raise AppendError(
                "journal_unlockable",
                f"{path}: this file system has no working locks ({error.strerror})",
                "keep the repository on a local file system",
            ) from error


def release(fd: int) -> None:
    """Let the next one in."""
    fcntl.flock(fd, fcntl.LOCK_UN)
