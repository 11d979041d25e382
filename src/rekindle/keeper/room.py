"""Gives back the room that was reserved behind the ends of a dead incarnation's spools.

Guard and keeper do that themselves at the end. If both are killed, the next process that looks does it: the next
guard, the daemon, or `rekindle gc`. Only with the session's lock held and with no process of the incarnation left:
a writer could add bytes between the look at a file's length and its shortening. What was written is never touched.
"""

import contextlib
import os
import stat

from rekindle.keeper.errors import SpecError
from rekindle.keeper.identity import here, read_identity
from rekindle.keeper.leftovers import find_leftovers, read_seen
from rekindle.keeper.outcome import read_exit
from rekindle.keeper.processes import is_running
from rekindle.keeper.spec import Layout, read_spec

_PAGE = 4096


def reserved(folder: str) -> int:
    """How many bytes are reserved behind the ends of the spools. Too few if older output was reclaimed before."""
    return sum(behind(path) for path in _spools(folder))


def give_back(folder: str) -> int:
    """Shorten each spool to its own length; returns how many bytes were freed. The caller holds the session's lock.

    Does nothing while a process that was left running on purpose still runs: it may write.
    """
    record = read_exit(folder)
    if record is not None and any(is_running(one.id) for one in record.left):
        return 0
    freed = 0
    for path in _spools(folder):
        with contextlib.suppress(OSError):
            freed += _trim(path)
    return freed


def may_run(folder: str) -> bool:
    """Whether a process of an incarnation without a living guard or keeper may still run. Asks no lock."""
    record, identity = read_exit(folder), read_identity(folder)
    if record is not None:
        return any(is_running(one.id) for one in record.left)
    if identity is not None and identity.place.machine != here().machine:
        return True
    if identity is not None and identity.place.boot != here().boot:
        return False
    try:
        stamp = read_spec(folder).stamp
    except (OSError, ValueError, SpecError):
        return False  # no guard can have read it either
    return bool(find_leftovers(stamp)) or any(is_running(one) for one in read_seen(folder))


def _spools(folder: str) -> tuple[str, ...]:
    layout = Layout(folder)
    return layout.out, layout.err, layout.input


def behind(path: str) -> int:
    """How many bytes are reserved behind the end of one file."""
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return max(0, found.st_blocks * 512 - -(-found.st_size // _PAGE) * _PAGE) if stat.S_ISREG(found.st_mode) else 0


def _trim(path: str) -> int:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    looks = os.open(path, os.O_RDONLY | flags)
    try:
        before = os.fstat(looks)
        if not stat.S_ISREG(before.st_mode):
            return 0
        os.fchmod(looks, 0o600)  # the outputs are 0400, which keeps their owner out too
        try:
            writes = os.open(path, os.O_WRONLY | flags)
        finally:
            os.fchmod(looks, stat.S_IMODE(before.st_mode))
        try:
            if os.path.samestat(before, os.fstat(writes)):
                os.ftruncate(writes, os.fstat(writes).st_size)
                os.utime(writes, ns=(before.st_atime_ns, before.st_mtime_ns))  # it shows when the agent last wrote
        finally:
            os.close(writes)
        return max(0, before.st_blocks - os.fstat(looks).st_blocks) * 512
    finally:
        os.close(looks)
