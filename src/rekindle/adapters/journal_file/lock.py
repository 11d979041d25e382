"""The journal's lock: taken on the file itself, and only on the file that is in its place now."""

from __future__ import annotations

import fcntl
import os

from rekindle import files


class AppendError(Exception):
    """The event was not written, or is not known to be on disk. Says what to do next in `hint`."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def open_locked(path: str, fd: int, seconds: float, root: str | None = None) -> tuple[int, int]:
    """The journal, open and locked, and its size: `fd` if that is still the file at `path`, else a new descriptor.

    A repair may have put a new file in the place of the one that was open; writing to the old one would lose the event.
    A descriptor that is not returned is closed. Below `root` no link is followed.
    """
    while True:
        if fd < 0:
            try:
                fd = files.open_to_append(path, root)
            except OSError as error:
                where = "" if error.filename in (None, path) else f"{error.filename}: "
                raise AppendError(
                    "journal_unwritable",
                    f"{path}: cannot be opened for writing ({where}{error.strerror})",
                    "check the progress folder: permissions, links, anything in the way",
                ) from error
        try:
            take(path, fd, seconds)
            here = os.fstat(fd)
            try:
                there = os.lstat(path).st_ino
            except FileNotFoundError:
                there = -1
        except BaseException:
            os.close(fd)
            raise
        if here.st_ino == there:
            return fd, here.st_size
        os.close(fd)
        fd = -1


def take(path: str, fd: int, seconds: float) -> None:
    """Wait for the lock, but not forever: a stopped process may hold it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    except OSError as error:
        raise AppendError(
            "journal_unlockable",
            f"{path}: this file system has no working locks ({error.strerror})",
            "keep the repository on a local file system",
        ) from error
    got = _wait_in_line(fd, seconds)
    if not (files.lock_within(fd, seconds) if got is None else got):
        raise AppendError(
            "journal_locked",
            f"{path}: another process has held the journal's lock for {seconds:g} s",
            "find it with `fuser` on that file; a stopped process goes on with `kill -CONT`",
        )


class _TimeIsUp(Exception):
    pass


def _wait_in_line(fd: int, seconds: float) -> bool | None:
    """Let the kernel hand the lock over, and an alarm end the wait; False if the time is up.

    None: not possible outside the main thread, or if somebody else has set an alarm.
    """
    import signal

    def ring(_signal: int, _frame: object) -> None:
        raise _TimeIsUp

    if signal.getitimer(signal.ITIMER_REAL)[0]:
        return None
    try:
        before = signal.signal(signal.SIGALRM, ring)
    except ValueError:
        return None
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return True
    except _TimeIsUp:
        return False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def release(fd: int) -> None:
    """Release the lock."""
    fcntl.flock(fd, fcntl.LOCK_UN)
