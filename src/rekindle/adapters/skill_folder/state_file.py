"""The state file of a skill session: replaced whole, under a lock of its folder, never deleted. Light standard library
only: a hook changes it on every tool call.

The lock is a file of its own, because the state file is replaced by another one with every change.
"""

from __future__ import annotations

import os

from rekindle import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

NAME = ".state.json"
LOCK = ".state.lock"
LARGEST = 4 << 20


class Busy(OSError):
    """Somebody else holds the folder's lock the whole time."""


class StateLock:
    """Holds the folder's lock. Raises Busy, OSError."""

    def __init__(self, folder: str, seconds: float = 10.0) -> None:
        self._path = os.path.join(folder, LOCK)
        self._seconds = seconds
        self._fd = -1

    def __enter__(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self._fd = os.open(self._path, flags, 0o644)
        if not files.lock_within(self._fd, self._seconds):
            os.close(self._fd)
            raise Busy(self._path)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)


def content(folder: str) -> bytes | None:
    """The state file's bytes; None if there is none. Raises OSError for a link, or for a file of no sensible size."""
    try:
        return files.read_short(os.path.join(folder, NAME), LARGEST)
    except FileNotFoundError:
        return None


def put(folder: str, data: bytes, *, durable: bool = True, replaced: list[int] | None = None) -> None:
    """Replace the state file. Under the lock only.

    `replaced` gets a descriptor of the old file, for the caller to close when nobody waits any more. Until then the old
    file is not removed, which on ext4 can wait for the disk: for milliseconds, fifty times as long as all the rest.
    """
    path = os.path.join(folder, NAME)
    if replaced is not None:
        replaced.append(files.open_to_read(path, follow=False))
    files.replace(path, data, durable=durable)
