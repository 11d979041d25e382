"""Makes new git objects durable before anything refers to them, without a sync of its own for each.

git writes them into a folder apart, which its clean-up knows by its name and takes away if we do not live to use it.
They are synced there together, and moved to the others. A power cut leaves all of them or a folder of rubbish.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from rekindle.adapters.git import Git

_PREFIX = "tmp_objdir-rekindle-"
#: Many threads that wait for the disk share its journal's commits.
_THREADS = 16
#: Above this, one sync of everything is cheaper.
_MANY = 1000


@contextmanager
def thrown_away(git: Git, objects: str) -> Iterator[Git]:
    """A git whose new objects are gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=objects, ignore_cleanup_errors=True) as apart:
        yield _apart(git, objects, apart)


@contextmanager
def made_durable(git: Git, objects: str) -> Iterator[Git]:
    """A git whose new objects are among the repository's when the block ends well."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=objects, ignore_cleanup_errors=True) as apart:
        yield _apart(git, objects, apart)
        _move_in(apart, objects)


def _apart(git: Git, objects: str, folder: str) -> Git:
    return git.with_variables(GIT_OBJECT_DIRECTORY=folder, GIT_ALTERNATE_OBJECT_DIRECTORIES=_quoted(objects))


def _quoted(path: str) -> str:
    """As git reads a list of paths: colons divide it, unless quoted."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _move_in(apart: str, objects: str) -> None:
    found = [
        os.path.relpath(os.path.join(folder, name), apart) for folder, _, names in os.walk(apart) for name in names
    ]
    if not found:
        return
    if len(found) > _MANY:
        os.sync()
    else:
        _sync_all([os.path.join(apart, name) for name in found])
    for entry in list(os.scandir(apart)):
        _move(entry, os.path.join(objects, entry.name))
    _sync_all([os.path.join(objects, name) for name in {os.path.dirname(name) for name in found}] + [objects])


def _move(folder: os.DirEntry[str], to: str) -> None:
    """Move a folder of objects: as a whole if it is the first of its name."""
    try:
        os.rename(folder.path, to)
        return
    except OSError:  # there is one, and perhaps only now
        pass
    for name in sorted(os.listdir(folder.path), key=lambda one: (one.endswith(".idx"), one)):
        target = os.path.join(to, name)
        if not os.path.exists(target):  # a pack counts once its index is there, which is why that comes last
            os.rename(os.path.join(folder.path, name), target)


def _sync_all(paths: list[str]) -> None:
    with ThreadPoolExecutor(min(_THREADS, len(paths))) as pool:
        list(pool.map(_sync, paths))


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
