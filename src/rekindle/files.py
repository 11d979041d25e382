"""How every part of rekindle writes and opens files. Light standard library only (the hook client imports this).

A file that others read is replaced whole or not at all; a journal is only written if it is a regular file, not a
link, because an untrusted repository could point a link anywhere.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time

EVENTS = "events.jsonl"
_BLOCK = 1 << 16
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def replace(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o644, durable: bool = False) -> None:
    """Replace a file's content with `data` in one step. If it raises OSError, the old content is still there."""
    target = os.fspath(path)
    temporary = f"{target}.{os.getpid()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, target)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    if durable:
        sync_folder(os.path.dirname(target))


def open_to_read(path: str | os.PathLike[str], *, follow: bool = True) -> int:
    """Open a regular file. OSError for anything else (a pipe would block forever), and for links unless `follow`."""
    return open_sized(path, follow=follow)[0]


def open_sized(path: str | os.PathLike[str], *, follow: bool = True) -> tuple[int, int]:
    """The same, with how many bytes the file has."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    return _regular(os.open(path, flags if follow else flags | os.O_NOFOLLOW), path)


def read(path: str | os.PathLike[str]) -> bytes:
    """The content of a regular file. Raises OSError."""
    fd = open_to_read(path)
    try:
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def read_short(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of a regular file that is not a link and has at most `most` bytes. Raises OSError."""
    fd, size = open_sized(path, follow=False)
    try:
        content = os.read(fd, min(size, most) + 1)  # asking for all that is allowed would reserve it
        if len(content) != size:  # it has changed, or says nothing about its size
            with os.fdopen(fd, "rb", closefd=False) as file:
                content += file.read(max(most + 1 - len(content), 0))
    finally:
        os.close(fd)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes", os.fspath(path))
    return content


def read_start(path: str | os.PathLike[str], most: int) -> bytes:
    """The first bytes of a regular file. Raises OSError."""
    fd = open_to_read(path)
    try:
        content = b""
        while len(content) < most and (more := os.read(fd, min(most - len(content), _BLOCK))):
            content += more
        return content
    finally:
        os.close(fd)


def open_to_append(path: str, root: str | None = None) -> int:
    """Open a regular file for reading and appending; create it if it does not exist. Links are refused.

    No folder on the path below `root` may be a link either. Missing folders are created.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    folder, name = os.path.split(path)
    if root is not None and os.pardir in path[len(root) :].split(os.sep):
        raise OSError(errno.EPERM, "leads out of its folder", path)
    if root is not None and is_below(folder, root):
        parent = open_folder(root, os.path.relpath(folder, root), make=True)
        try:
            return _regular(os.open(name, flags, 0o644, dir_fd=parent), path)[0]
        finally:
            os.close(parent)
    if os.path.islink(folder):
        raise OSError(errno.ELOOP, "its folder is a symbolic link", path)
    make_folder(folder)
    return _regular(os.open(path, flags, 0o644), path)[0]


def can_be_a_path(text: str) -> bool:
    """Whether a file can have this path at all: JSON can say texts that the system's calls do not take."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def append(fd: int, data: bytes) -> None:
    """Add all of it to the end of a file, in one write if the disk has room, and sync it. Raises OSError.

    A disk that fills up takes a part, and reports that to the next write only. That part stays: somebody else may have
    added something behind it.
    """
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.fsync(fd)


def is_below(path: str, root: str) -> bool:
    """Whether a path is in a folder, or is that folder, judged by name only."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def open_folder(root: str, relative: str, *, make: bool = False) -> int:
    """A descriptor of a folder below `root`, reached one name at a time without following a link. Raises OSError."""
    names = relative.split(os.sep)
    if os.pardir in names or os.path.isabs(relative):
        raise OSError(errno.EPERM, "leads out of its folder", os.path.join(root, relative))
    fd = os.open(root, _FOLDER | os.O_NOFOLLOW)
    way = root
    for name in names:
        if name in ("", os.curdir):
            continue
        way = os.path.join(way, name)
        try:
            below = _open_next(name, fd, way, make=make)
        finally:
            os.close(fd)
        fd = below
    return fd


def _open_next(name: str, parent: int, way: str, *, make: bool) -> int:
    try:
        if make:
            try:
                os.mkdir(name, dir_fd=parent)
                os.fsync(parent)
            except FileExistsError:
                pass
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP) and os.path.islink(way):
            raise OSError(errno.ELOOP, "is a symbolic link", way) from error
        raise OSError(error.errno, error.strerror, way) from error


def _regular(fd: int, path: str | os.PathLike[str]) -> tuple[int, int]:
    """The descriptor and the size of a file. Raises OSError if it is not a regular one."""
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode):
        return fd, found.st_size
    os.close(fd)
    raise OSError(22, "not a regular file", os.fspath(path))


def is_locked(path: str | os.PathLike[str]) -> bool:
    """Whether some process holds the lock on a file. The check itself briefly takes a shared lock."""
    try:
        fd = open_to_read(path)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def lock_within(fd: int, seconds: float) -> bool:
    """Take the lock on an open file; False if another process holds it the whole time."""
    deadline = time.monotonic() + seconds
    pause = 0.00005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(pause * 1.3, 0.002)


def make_folder(folder: str) -> None:
    """Create a folder and its parents so that they survive a power loss."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if parent and parent != folder:
        make_folder(parent)
    try:
        os.mkdir(folder)
    except FileExistsError:
        return
    sync_folder(parent)


def make_private(folder: str | os.PathLike[str]) -> None:
    """Create a folder and its parents for this user only, whatever the umask. Existing ones are left unchanged."""
    path = os.fspath(folder)
    if not path or os.path.isdir(path):
        return
    make_private(os.path.dirname(path))
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def make_own(folder: str) -> None:
    """Create our folder in a place where others may write. Raises OSError for a link: it could point anywhere."""
    if os.path.islink(folder):
        raise OSError(errno.ELOOP, "is a symbolic link, and may lead anywhere", folder)
    make_private(folder)


def sync_file(path: str | os.PathLike[str]) -> None:
    """Flush a file's content to disk."""
    fd = open_to_read(path)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_folder(folder: str) -> None:
    """Flush a folder's entries to disk."""
    fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
