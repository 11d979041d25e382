"""The session's lock: the one fact that says whether a tree of this session may still live.

An flock on one open file description, taken by the guard and shared with the keeper over fork, so
that it is held until *both* are gone. The agent never has it (launchers and shells would pass it on
to strangers). The file also names its holder and the holder's folder; that text is a hint for
people and for the search for leftovers, only the lock is proof. The file is never deleted.
"""

import contextlib
import fcntl
import json
import os
import time
from dataclasses import asdict, dataclass

from rekindle.keeper import fields
from rekindle.keeper.identity import Place, here, place, process_id
from rekindle.keeper.processes import ProcessId, is_running

# A prober takes the lock for microseconds; a start must not fail because of one.
_TRIES = 10
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Holder:
    guard: ProcessId
    keeper: ProcessId | None
    place: Place
    folder: str

    def living_pid(self) -> int | None:
        """The pid to name to a person: the guard's, or the keeper's if the guard is dead."""
        if self.place != here():
            return None
        candidates = (self.guard, self.keeper)
        return next((one.pid for one in candidates if one is not None and is_running(one)), None)


def take(path: str) -> int | None:
    """The locked file's descriptor, or None if somebody holds it."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            continue
        if _is_file_at(fd, path):
            return fd
        os.close(fd)  # somebody replaced the file between open and lock
    return None


def is_held(path: str) -> bool:
    """Whether a guard or keeper lives, by trying the lock. A missing file was never locked."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def write_holder(fd: int, holder: Holder) -> None:
    text = json.dumps(asdict(holder)).encode()
    os.pwrite(fd, text, 0)
    os.ftruncate(fd, len(text))


def read_holder(path: str) -> Holder | None:
    """The present or last holder, as far as the text can be read."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        value = json.load(file)
        keeper = value.get("keeper")
        return Holder(
            guard=process_id(fields.nested(value, "guard")),
            keeper=process_id(keeper) if isinstance(keeper, dict) else None,
            place=place(fields.nested(value, "place")),
            folder=fields.text(value, "folder"),
        )
    return None


def _is_file_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False
