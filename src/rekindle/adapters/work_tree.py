"""The work tree as a git tree object, by way of a temporary index. The user's own index is copied and never written.

Only what differs from the index is looked at: one listing, then the changed paths alone, so that a tree of many files
costs about what `git add -A` costs. A path that git cannot take in is found by halving, and left out by name.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from rekindle.adapters import repository
from rekindle.adapters.git import Git, GitFailed

_FRAGMENT = 1 << 20
#: What HEAD says where refs are kept in tables.
_NOT_IN_A_FILE = ".invalid"


class LeftOut(msgspec.Struct, frozen=True):
    """A path that is in the work tree and not in the snapshot."""

    path: bytes
    why: str


class Tree(msgspec.Struct, frozen=True):
    """A tree object and what it lacks."""

    id: str
    left_out: tuple[LeftOut, ...] = ()


class Place(msgspec.Struct, frozen=True):
    """A work tree: git at its top, the user's index, what is checked out (`head` is None before the first commit)."""

    git: Git
    index: str
    head: str | None
    branch: str | None


def find(cwd: str) -> Place | None:
    """The work tree around a folder, even one that is gone. None: no repository, or a bare one."""
    folder = os.path.abspath(cwd)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    found = repository.find(folder)
    if found is None:
        return None
    done = Git(folder).run("rev-parse", "--show-toplevel", "--quiet", "--verify", "HEAD")
    if done.returncode not in (0, 1):
        if b"not a git repository" in done.stderr or b"must be run in a work tree" in done.stderr:
            return None
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0].removeprefix("fatal: ")
        raise GitFailed(f"git in {folder}: {said}", "see what `git status` says there")
    told = os.fsdecode(done.stdout.removesuffix(b"\n"))
    top, _, head = told.rpartition("\n") if done.returncode == 0 else (told, "", None)
    git = Git(top)
    if found.top == top and found.branch != _NOT_IN_A_FILE:
        return Place(git, os.path.join(found.git_dir, "index"), head, found.branch)
    index = git.line("rev-parse", "--path-format=absolute", "--git-path", "index")
    return Place(git, index or "", head, git.line("symbolic-ref", "--quiet", "--short", "HEAD"))


@contextmanager
def scratch_index() -> Iterator[str]:
    """The path of an index file that nobody else knows, and that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="rekindle-index-") as folder:
        yield os.path.join(folder, "index")


def write(place: Place, limit: int) -> Tree:
    """Write the whole work tree, without what git ignores, as a tree object."""
    with scratch_index() as index:
        ours = place.git.with_index(index)
        try:
            if _copy_index(place.index, index):
                return _write(ours, limit)
        except GitFailed:
            _remove(index)  # damaged, or from a git that ours does not understand: begin with what HEAD has
        if place.head is not None:
            ours.output("read-tree", place.head)
        return _write(ours, limit)


def _copy_index(source: str, to: str) -> bool:
    """Copy with the time of change: git takes entries as young as the index for possibly stale."""
    try:
        with open(source, "rb") as theirs, open(to, "wb") as copy:
            shutil.copyfileobj(theirs, copy, _FRAGMENT)
            found = os.fstat(theirs.fileno())
    except FileNotFoundError:
        return False
    os.utime(to, ns=(found.st_atime_ns, found.st_mtime_ns))
    return True


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def _write(git: Git, limit: int) -> Tree:
    listed = git.output("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
    tracked: dict[bytes, None] = {}
    others: list[bytes] = []
    for item in listed.split(b"\0"):
        if item.startswith(b"? "):
            others.append(item[2:])
        elif item:
            tracked[item[2:]] = None
    top = os.fsencode(git.folder)
    gone = [path for path in tracked if is_gone(top, path)]
    left_out: list[LeftOut] = []
    wanted: list[bytes] = []
    missing = set(gone)
    # Tracked paths first: a file that became a folder has to leave before what is in the folder can come.
    for path in (*(path for path in tracked if path not in missing), *others):
        why = _why_not(git, top, path, limit)
        if why is None:
            wanted.append(path.removesuffix(b"/"))
        else:
            left_out.append(LeftOut(path, why))
    _update(git, "--force-remove", gone)
    left_out += _add(git, wanted)
    # What is left out is not in the tree with an older content either: a restore would put that over the newer one.
    _update(git, "--force-remove", [one.path.removesuffix(b"/") for one in left_out])
    return Tree(git.output("write-tree").decode().strip(), tuple(left_out))


def is_gone(top: bytes, path: bytes) -> bool:
    """Whether a path of a tree is not there, or lies behind what is a link or a file now."""
    folder = top
    for part in path.split(b"/")[:-1]:
        folder = folder + b"/" + part
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return True
        except OSError:
            return True
    return not os.path.lexists(top + b"/" + path)


def _why_not(git: Git, top: bytes, path: bytes, limit: int) -> str | None:
    try:
        found = os.lstat(top + b"/" + path)
    except OSError:
        return None  # gone by now: git notices it
    if stat.S_ISREG(found.st_mode) and found.st_size > limit:
        return f"{found.st_size} bytes"
    if path.endswith(b"/") and not _has_commit(git, path):
        return "a repository without a commit"
    return None


def _has_commit(git: Git, path: bytes) -> bool:
    inner = Git(os.path.join(git.folder, os.fsdecode(path)))
    return inner.line("rev-parse", "--quiet", "--verify", "HEAD^{commit}") is not None


def _add(git: Git, paths: Sequence[bytes]) -> list[LeftOut]:
    try:
        _update(git, "--add", paths)
    except GitFailed as error:
        if len(paths) == 1:
            return [LeftOut(paths[0], f"git cannot read it ({error.message.rpartition(': ')[2]})")]
        middle = len(paths) // 2
        return _add(git, paths[:middle]) + _add(git, paths[middle:])
    return []


def _update(git: Git, how: str, paths: Sequence[bytes]) -> None:
    if paths:
        words = ("--add", "--replace", "--remove") if how == "--add" else (how,)
        git.output("update-index", *words, "-z", "--stdin", stdin=b"\0".join(paths) + b"\0")
