"""What the daemon calls: start an incarnation, and find out about one that it may never have seen.

Nothing here needs a living keeper, and nothing here talks to one: that is `client`. Blocking, and
safe to call from a worker thread.
"""

import contextlib
import errno
import hashlib
import json
import os
import select
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from rekindle.keeper import fields, lockfile
from rekindle.keeper.errors import (
    ExecFailed,
    LockHeld,
    NoRoom,
    SpecError,
    StartCrashed,
    StartError,
    StartInDoubt,
)  # fmt: skip
from rekindle.keeper.identity import Identity, read_identity
from rekindle.keeper.leftovers import end_leftovers, find_leftovers
from rekindle.keeper.nursery import Nursery, own_environment
from rekindle.keeper.outcome import ExitRecord, read_exit
from rekindle.keeper.progress import Progress, read_progress
from rekindle.keeper.spec import LONGEST_SOCKET_PATH, Layout, Spec, check_spec, read_spec, write_spec

__all__ = [
    "ExitRecord",
    "Identity",
    "Nursery",
    "Progress",
    "Spec",
    "Started",
    "end_leftovers",
    "find_leftovers",
    "is_alive",
    "nursery",
    "owner_pid",
    "read_exit",
    "read_identity",
    "read_progress",
    "spawn",
    "wait_until_gone",
]  # fmt: skip

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py")
_AFTER_FAILURE = 10.0


@dataclass(frozen=True, slots=True)
class Started:
    folder: str
    socket: str
    identity: Identity


def socket_path(spec: Spec) -> str:
    """Short, and different for every incarnation, so that a dead one's socket is never in the way."""
    name = hashlib.blake2b(os.fsencode(spec.folder), digest_size=8).hexdigest()
    return os.path.join(spec.socket_dir, name + ".sock")


#: Executes a line in a terminal that it opens. Raises OSError, and then nothing was started.
OpenTerminal = Callable[[tuple[str, ...]], None]


def nursery(about: str) -> Nursery:
    """A nursery for `spawn`, not opened yet."""
    return Nursery(_PROGRAM, about)


def spawn(
    spec: Spec,
    *,
    timeout: float = 30.0,
    interpreter: str = sys.executable,
    open_terminal: OpenTerminal | None = None,
    through: tuple[str, ...] = (),
    forked_by: Nursery | None = None,
) -> Started:
    """Start guard, keeper and agent; returns when the agent's program was executed.

    `through` are the words of a program that replaces itself with what follows them, such as `systemd-run --scope`.
    `forked_by` is a nursery that saves the start of an interpreter, if it is there.

    With `open_terminal` the guard is the first process of a terminal, and the agent (which needs a pty)
    is seen and used there; when that terminal is closed, the agent is ended.

    Raises SpecError before anything is touched, else a StartError. After StartInDoubt (and after a crash
    of the caller) the agent may run: probe with is_alive and read_identity. What was started lives on
    without the caller.
    """
    check_spec(spec)
    spec = replace(spec, socket=socket_path(spec))
    if len(os.fsencode(spec.socket)) > LONGEST_SOCKET_PATH:
        raise SpecError(f"{spec.socket} is too long for a socket. Use a shorter socket_dir.")
    try:
        _check_socket_dir(spec.socket_dir)
        os.makedirs(os.path.dirname(spec.lock), mode=0o700, exist_ok=True)
        write_spec(spec)
        log = os.open(Layout(spec.folder).log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise NoRoom(f"{spec.folder} cannot be written: {error}. Free some room.") from error
    listens, says = (_named_pipe(spec), -1) if open_terminal is not None else os.pipe()
    try:
        try:
            if open_terminal is not None:
                open_terminal(_line(spec, interpreter, Layout(spec.folder).ready))
            elif forked_by is None or not forked_by.begin(spec.folder, says, log):
                _execute(spec, says, log, interpreter, through)
        finally:
            os.close(log)
        if says >= 0:
            os.close(says)
            says = -1
        answer = _read_line(listens, timeout)
        if answer is None:
            if forked_by is not None:  # it may be stopped, and would start this agent whenever it goes on
                forked_by.renew()
            raise StartInDoubt(
                f"No word from the guard of {spec.folder} within {timeout:g} s. "
                "Probe with is_alive before anything else."
            )
        return _started(spec, answer, listens)
    finally:
        os.close(listens)
        if says >= 0:
            os.close(says)


def is_alive(path: str) -> bool:
    """Whether a guard or keeper lives; `path` is the lock file, or an incarnation folder.

    For a folder: whether *that* incarnation holds its session's lock.
    """
    if not os.path.isdir(path):
        return lockfile.is_held(path)
    try:
        lock = read_spec(path).lock
    except (FileNotFoundError, ValueError, SpecError):
        return False  # its writer died before it was complete, and no guard can have read it
    holder = lockfile.read_holder(lock)
    same = holder is not None and os.path.realpath(holder.folder) == os.path.realpath(path)
    return same and lockfile.is_held(lock)


def owner_pid(lock: str) -> int | None:
    """The pid to name to a person who asks who holds the lock; None if nobody does."""
    holder = lockfile.read_holder(lock) if lockfile.is_held(lock) else None
    return holder.living_pid() if holder else None


def wait_until_gone(lock: str, timeout: float) -> bool:
    """Wait until nobody holds the lock; False if the time runs out first."""
    deadline = time.monotonic() + timeout
    while lockfile.is_held(lock):
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True


def _check_socket_dir(path: str) -> None:
    os.makedirs(path, mode=0o700, exist_ok=True)
    found = os.stat(path)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise SpecError(f"{path} must belong to uid {os.geteuid()} with mode 0700.")


def _line(spec: Spec, interpreter: str, ready: str) -> tuple[str, ...]:
    return (interpreter, "-I", "-S", "-X", "utf8", _PROGRAM, spec.folder, ready)


def _named_pipe(spec: Spec) -> int:
    """For a guard that is not our child."""
    os.mkfifo(Layout(spec.folder).ready, 0o600)
    return os.open(Layout(spec.folder).ready, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _execute(spec: Spec, says: int, log: int, interpreter: str, through: tuple[str, ...]) -> None:
    # The guard gets none of our environment except what its interpreter, or what it goes through, may need.
    env = own_environment(*(("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS") if through else ()))
    try:
        process = subprocess.Popen(
            (*through, *_line(spec, interpreter, str(says))),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=env,
            pass_fds=(says,),
            start_new_session=True,
        )
    except OSError as error:
        raise StartCrashed(f"{interpreter} cannot be executed: {error}") from error
    process.wait()


def _started(spec: Spec, answer: dict[str, object], listens: int) -> Started:
    identity = read_identity(spec.folder) if answer.get("ok") else None
    if identity is not None:
        return Started(spec.folder, spec.socket, identity)
    # The end of the pipe says that the lock is free again, so that the caller may try at once.
    _read_line(listens, _AFTER_FAILURE)
    raise _failure(spec, answer)


def _failure(spec: Spec, answer: dict[str, object]) -> StartError:
    message = str(answer.get("message", f"The guard died while starting; {Layout(spec.folder).log} says why."))
    match answer.get("code"):
        case "lock_held":
            return LockHeld(message, fields.optional_integer(answer, "pid"))
        case "exec":
            return ExecFailed(message, fields.text(answer, "program"), fields.integer(answer, "errno"))
        case "no_room":
            return NoRoom(message)
        case _:
            return StartCrashed(message)


def _read_line(fd: int, timeout: float) -> dict[str, object] | None:
    """The next line as an object; {} at the end of the stream; None if the time runs out first."""
    deadline = time.monotonic() + timeout
    data = b""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    while not data.endswith(b"\n"):
        if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
            return None
        more = os.read(fd, 65536)
        if not more:
            return {}
        data += more
    with contextlib.suppress(ValueError):
        value = json.loads(data.splitlines()[0])
        if isinstance(value, dict):
            return value
    return {}
