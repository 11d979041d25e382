"""Files of one folder, for somebody who may name any path: nothing outside the folder is read or written.

A path is resolved first; what it resolves to must lie in the resolved folder. Then the path is walked again from the
folder's own descriptor, one component at a time and without following links, so a link inserted in between is
refused. Only regular files are opened: a pipe would block forever.

Git's own files are neither read nor written, wherever they are: `.git/config` may hold passwords, and whatever is
written to it, or to a hook, can run commands at the next git call.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import PurePath

from rekindle.core.git_names import is_git_name

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Outside(Exception):
    """The path leads out of the folder, into git's own, or not to a regular file; the message says which."""


class ConfinedFolder:
    """`folder` is resolved once: if it is replaced by a link later, it is refused."""

    def __init__(self, folder: str) -> None:
        self.root = os.path.realpath(folder)

    def resolve(self, path: str) -> str:
        """Where an absolute path leads, links followed; Outside if that is not in the folder."""
        if not os.path.isabs(path) or "\0" in path:
            raise Outside(f"{path!r} is no absolute path.")
        real = os.path.realpath(path)
        if real != self.root and not real.startswith(self.root.rstrip("/") + "/"):
            raise Outside(f"{path} leads out of the working folder {self.root}.")
        return real

    def _resolve_file(self, path: str) -> str:
        """The same for a file; Outside if it belongs to git."""
        real = self.resolve(path)
        if any(is_git_name(part) for part in PurePath(real).parts) or self._is_in_git_folder(real):
            raise Outside(f"{path} belongs to git, whose own files are neither read nor written here.")
        return real

    def _is_in_git_folder(self, real: str) -> bool:
        """Whether git's own folder is on the way under another name: a bare repository, one of a submodule."""
        folder = os.path.dirname(real)
        while folder.startswith(self.root):
            if _is_git_folder(folder):
                return True
            if folder == self.root:
                break
            folder = os.path.dirname(folder)
        return False

    @contextlib.contextmanager
    def open_to_read(self, path: str) -> Iterator[int]:
        """A descriptor of a regular file. Raises Outside or OSError."""
        real = self._resolve_file(path)
        with self._parent(real, make=False) as (parent, name):
            fd = _open_checked(path, name, os.O_RDONLY | os.O_NONBLOCK, parent)
        try:
            _check_regular(os.fstat(fd), path)
            yield fd
        finally:
            os.close(fd)

    def replace(self, path: str, data: bytes) -> None:
        """Replace a file's content with `data` in one step; missing folders are created. Raises Outside or OSError.

        An existing file keeps its mode. A link inside the folder stays a link; its target is replaced.
        """
        real = self._resolve_file(path)
        with self._parent(real, make=True) as (parent, name):
            mode = _mode_at(parent, name, path)
            temporary = _temporary(name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=parent)  # left by a dead process that had our pid
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(temporary, flags, 0o666, dir_fd=parent)
            try:
                with open(fd, "wb") as file:
                    file.write(data)
                    if mode is not None:
                        os.fchmod(fd, mode)
                    file.flush()
                    os.fsync(fd)
                self._check_still_inside(parent, path)
                os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            with contextlib.suppress(OSError):  # some file systems cannot sync a folder
                os.fsync(parent)

    @contextlib.contextmanager
    def _parent(self, real: str, *, make: bool) -> Iterator[tuple[int, str]]:
        """The folder of a resolved path, reached without a link, and the last name."""
        if real == self.root:
            raise Outside(f"{real} is a folder.")
        *folders, name = PurePath(real).relative_to(self.root).parts
        fd = os.open(self.root, _FOLDER)
        try:
            for folder in folders:
                below = _open_folder(folder, fd, make=make)
                os.close(fd)
                fd = below
            yield fd, name
        finally:
            os.close(fd)

    def _check_still_inside(self, fd: int, path: str) -> None:
        """A folder can be moved away while we hold it."""
        try:
            now = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:
            return  # no /proc here
        if now != self.root and not now.startswith(self.root.rstrip("/") + "/"):
            raise Outside(f"{path} was moved out of the working folder {self.root}.")


def _is_git_folder(folder: str) -> bool:
    """Whether git would treat a folder as one of its own."""

    def has(name: str) -> bool:
        return os.path.lexists(os.path.join(folder, name))

    return has("HEAD") and ((has("objects") and has("refs")) or has("commondir") or has("gitdir"))


def _open_folder(name: str, parent: int, *, make: bool) -> int:
    try:
        return _open_checked(name, name, _FOLDER, parent)
    except FileNotFoundError:
        if not make:
            raise
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, dir_fd=parent)
    return _open_checked(name, name, _FOLDER, parent)


def _open_checked(path: str, name: str, flags: int, parent: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno == errno.ENOTDIR and _is_link(name, parent)):
            raise Outside(f"{path} became a link while it was opened.") from error
        if error.errno == errno.ENXIO:  # a socket, or a pipe without a reader
            raise Outside(f"{path} is no regular file.") from error
        raise


def _is_link(name: str, parent: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _mode_at(parent: int, name: str, path: str) -> int | None:
    """The mode of the file to be replaced; None if there is none."""
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _check_regular(found, path)
    return stat.S_IMODE(found.st_mode) & 0o777


def _check_regular(found: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise Outside(f"{path} is a folder.")
    if not stat.S_ISREG(found.st_mode):
        raise Outside(f"{path} is no regular file.")


def _temporary(name: str) -> str:
    owner = f"{name}/{os.getpid()}/{threading.get_ident()}"
    return f".rekindle-{hashlib.blake2b(os.fsencode(owner), digest_size=8).hexdigest()}.tmp"
