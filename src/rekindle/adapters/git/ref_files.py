"""Reads refs from git's own files, without starting git: a run of a feature looks at them before every step.

If the files are not clear (another way of storing refs, a symbolic ref, a broken file), it raises `Unsure`, and git
has to be asked.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from rekindle import files

_COMMIT = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_LONGEST = 8192
_OTHER_NAME = b"ref: "
_Read = TypeVar("_Read")


class Unsure(Exception):
    """The files are not clear: git has to be asked."""


class RefFiles:
    """The refs of one repository. `common` is its common git folder."""

    def __init__(self, common: str) -> None:
        self._common = common
        self._turn = threading.Lock()
        self._seen: dict[str, tuple[tuple[int, int, int], object]] = {}

    def commit(self, ref: str) -> str | None:
        """What a ref points to, None if there is none. Raises Unsure."""
        self._be_plain()
        loose = self._loose(ref)
        return loose if loose is not None else self._packed().get(ref)

    def below(self, folders: Iterable[str], names: Iterable[str] = ()) -> dict[str, str]:
        """All refs in some folders, and those of the names that there are. Raises Unsure."""
        self._be_plain()
        wanted = [f"{folder.rstrip('/')}/" for folder in folders]
        single = [name for name in names if not name.startswith(tuple(wanted))]
        loose = {ref: commit for folder in wanted for ref, commit in self._walked(folder)}
        loose |= {ref: commit for ref in single if (commit := self._loose(ref)) is not None}
        packed = self._packed()  # after the others: what is being packed is in one of them at any time
        found = {ref: commit for ref, commit in packed.items() if ref.startswith(tuple(wanted))} if wanted else {}
        found |= {ref: packed[ref] for ref in single if ref in packed}
        return dict(sorted((found | loose).items()))

    def _walked(self, folder: str) -> Iterable[tuple[str, str]]:
        for path, folders, names in os.walk(os.path.join(self._common, folder)):
            if any(os.path.islink(os.path.join(path, name)) for name in folders):
                raise Unsure
            for name in names:
                ref = os.path.relpath(os.path.join(path, name), self._common)
                if not name.endswith(".lock") and (commit := self._loose(ref)) is not None:
                    yield ref, commit

    def _loose(self, ref: str) -> str | None:
        told = read_ref(os.path.join(self._common, ref))
        if told is not None and told.startswith(_OTHER_NAME):
            raise Unsure
        return told.decode() if told is not None else None

    def _be_plain(self) -> None:
        if self._cached("config", lambda text: b"refstorage" in text.lower(), absent=False):
            raise Unsure

    def _packed(self) -> dict[str, str]:
        return self._cached("packed-refs", _parsed, absent={})

    def _cached(self, name: str, read: Callable[[bytes], _Read], absent: _Read) -> _Read:
        """A file's content, read again if it has been replaced."""
        path = os.path.join(self._common, name)
        with self._turn:
            try:
                status = os.stat(path)
                key = (status.st_ino, status.st_size, status.st_mtime_ns)
                known = self._seen.get(name)
                if known is not None and known[0] == key:
                    return cast("_Read", known[1])
                with open(path, "rb") as file:
                    status = os.fstat(file.fileno())
                    found = read(file.read())
            except FileNotFoundError:
                return absent
            except OSError as error:
                raise Unsure from error
            self._seen[name] = ((status.st_ino, status.st_size, status.st_mtime_ns), found)
            return found


def read_ref(path: str) -> bytes | None:
    """What a file says that holds a ref: a commit, or `ref: ` and a name; None without one. Raises Unsure."""
    try:
        fd = files.open_to_read(path, follow=False)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        if os.path.isdir(path) and not os.path.islink(path):
            return None
        raise Unsure from error
    with os.fdopen(fd, "rb") as file:
        told = file.read(_LONGEST).rstrip()
    if _COMMIT.match(told) or told.startswith(_OTHER_NAME):
        return told
    raise Unsure


def _parsed(text: bytes) -> dict[str, str]:
    found = {}
    for line in text.split(b"\n"):
        if line and not line.startswith((b"#", b"^")):
            commit, _, ref = line.partition(b" ")
            if not _COMMIT.match(commit):
                raise Unsure
            found[ref.decode("utf-8", "surrogateescape")] = commit.decode()
    return found
