"""How a daemon shows that it is there: the lock that makes it the only one of its store, and that it is ready."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os

from rekindle.places import Places
from rekindle.ports.errors import OwnedError


def take_lock(places: Places) -> int:
    """Be the only daemon of a store. The lock is held while the returned descriptor is open. Raises OwnedError."""
    fd = os.open(places.daemon_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(fd, 100, 0).decode(errors="replace").strip()
        os.close(fd)
        raise OwnedError(
            f"a daemon already serves {places.state} (pid {holder})", "there is one per store; use that one"
        ) from None
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def say_ready() -> None:
    """Tell the process that started us that the socket is ready."""
    descriptor = os.environ.pop("REKINDLE_READY_FD", None)
    if descriptor and descriptor.isdigit():
        with contextlib.suppress(OSError):
            os.write(int(descriptor), json.dumps({"pid": os.getpid()}).encode() + b"\n")
            os.close(int(descriptor))
