"""The three system calls that Python's os module lacks: prctl, and fallocate that keeps the size.

Only thin, typed calls that raise OSError. What they are used for is decided elsewhere.
"""

import ctypes
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_FALLOC_KEEP_SIZE = 1
_FALLOC_PUNCH_HOLE = 2

_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl
_prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]
# glibc on 32 bits has a fallocate with 32-bit offsets next to fallocate64; musl has only one.
_fallocate = getattr(_libc, "fallocate64", None) or _libc.fallocate
_fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def become_subreaper(wanted: bool = True) -> None:
    """From now on orphans among our descendants become our children instead of init's (or not)."""
    _checked(_prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0))


def die_with_parent(signal_number: int) -> None:
    """Ask for a signal when the thread that forked us ends; check getppid afterwards."""
    _checked(_prctl(_PR_SET_PDEATHSIG, signal_number, 0, 0, 0))


def set_name(name: str) -> None:
    """What ps shows; 15 bytes at most."""
    text = ctypes.create_string_buffer(name.encode()[:15])
    _checked(_prctl(_PR_SET_NAME, ctypes.addressof(text), 0, 0, 0))


def reserve(fd: int, offset: int, length: int) -> None:
    """Give the range blocks without changing the file's size."""
    _checked(_fallocate(fd, _FALLOC_KEEP_SIZE, offset, length))


def punch(fd: int, offset: int, length: int) -> None:
    """Give the range's blocks back; it reads as zeros afterwards and offsets stay."""
    _checked(_fallocate(fd, _FALLOC_KEEP_SIZE | _FALLOC_PUNCH_HOLE, offset, length))


def _checked(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
