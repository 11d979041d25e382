"""New git objects: either on the disk before anything refers to them, and synced together, or not kept at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from rekindle.adapters.git.git import Git

#: git's clean-up knows such folders by their names, and removes them if we die first.
_PREFIX = "tmp_objdir-rekindle-"
#: Threads that wait for the disk share its journal's commits; more of them than this are in each other's way.
_THREADS = 8
#: Above this, one sync of everything is cheaper.
_MANY = 1000
_REPOSITORY_INSIDE = b"160000"


@contextmanager
def thrown_away(git: Git, objects: str) -> Iterator[Git]:
    """A git whose new objects are gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=objects, ignore_cleanup_errors=True) as apart:
        yield git.with_variables(GIT_OBJECT_DIRECTORY=apart, GIT_ALTERNATE_OBJECT_DIRECTORIES=_quoted(objects))


def make_durable(objects: str, names: Iterable[str]) -> None:
    """Flush objects to disk. Those in packs are there already."""
    files = [path for path in (os.path.join(objects, name[:2], name[2:]) for name in names) if os.path.exists(path)]
    if len(files) > _MANY:
        os.sync()
    elif files:
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(_sync, [*files, *{os.path.dirname(path) for path in files}, objects]))


def named_since(git: Git, since: str | None, tree: str) -> list[str]:
    """The names of a tree, and of the files and folders in it that another has not.

    No matter who wrote them: git has a file that the user staged, but perhaps not on disk.
    """
    if since is None:
        listed = git.output("ls-tree", "-r", "-t", "-z", "--full-tree", tree).split(b"\0")
        entries = [(mode, name) for mode, _, name in (line.partition(b"\t")[0].split() for line in listed if line)]
    else:
        told = git.output("diff-tree", "-r", "-t", "-z", "--raw", "--no-abbrev", "--no-renames", since, tree)
        lines = [line.split() for line in told.split(b"\0")[::2] if line]
        entries = [(mode, name) for _, mode, _, name, _ in lines]
    return [tree, *(name.decode() for mode, name in entries if mode != _REPOSITORY_INSIDE and name.strip(b"0"))]


def _quoted(path: str) -> str:
    """As git reads a list of paths: colons divide it, unless quoted."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
