"""The work tree as a git tree object, by way of an index of our own. The user's index is copied and never written.

Only what differs from the index is looked at: one listing, then the changed paths alone, so that a tree of many files
costs about what `git add -A` costs. A path that git cannot take in is found by halving, and left out by name.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

from rekindle.adapters.git import repository, withheld
from rekindle.adapters.git.git import Children, Git
from rekindle.adapters.git.private_index import PrivateIndex, borrowed
from rekindle.ports.errors import GitFailed

#: What HEAD says where refs are kept in tables.
_NOT_IN_A_FILE = ".invalid"
#: From this many paths on, git adds them faster by searching itself than one by one.
_MANY = 2000


class LeftOut(msgspec.Struct, frozen=True):
    """A path that is in the work tree and not in the snapshot."""

    path: bytes
    why: str


class TreeObject(msgspec.Struct, frozen=True):
    """A tree object and what it lacks."""

    id: str
    left_out: tuple[LeftOut, ...] = ()


class TreePlace(msgspec.Struct, frozen=True):
    """A work tree: git at its top, its git folders, what is checked out (`head` is None before the first commit)."""

    git: Git
    common: str
    git_dir: str
    head: str | None
    branch: str | None

    @property
    def objects(self) -> str:
        """Where the repository's objects are."""
        return os.path.join(self.common, "objects")


def find(cwd: str, children: Children | None = None, within: str | None = None) -> TreePlace | None:
    """The work tree around a folder, even one that is gone. None: no repository, or a bare one.

    With `within`, a work tree that has that one inside of it is none either: the one that is meant is gone.
    """
    folder = os.path.abspath(cwd)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    found = repository.find(folder)
    if found is None:
        return None
    if found.top is not None and found.branch != _NOT_IN_A_FILE and not repository.is_overridden():
        if _is_inside(within, found.top):
            return None
        if (head := found.head) is not None:
            return TreePlace(Git(found.top, children), found.common, found.git_dir, head, found.branch)
    done = Git(folder, children).run("rev-parse", "--show-toplevel", "--quiet", "--verify", "HEAD")
    if done.returncode not in (0, 1):
        if b"not a git repository" in done.stderr or b"must be run in a work tree" in done.stderr:
            return None
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0].removeprefix("fatal: ")
        raise GitFailed(f"git in {folder}: {said}", "see what `git status` says there")
    told = os.fsdecode(done.stdout.removesuffix(b"\n"))
    top, _, commit = told.rpartition("\n") if done.returncode == 0 else (told, "", None)
    if _is_inside(within, top):
        return None
    git = Git(top, children)
    if found.top == top and found.branch != _NOT_IN_A_FILE:
        return TreePlace(git, found.common, found.git_dir, commit, found.branch)
    git_dir = git.line("rev-parse", "--path-format=absolute", "--git-dir")
    common = git.line("rev-parse", "--path-format=absolute", "--git-common-dir")
    branch = git.line("symbolic-ref", "--quiet", "--short", "HEAD")
    return TreePlace(git, common or found.common, git_dir or found.git_dir, commit, branch)


def _is_inside(folder: str | None, top: str) -> bool:
    return folder is not None and os.path.realpath(folder).startswith(os.path.join(os.path.realpath(top), ""))


@contextmanager
def scratch_index() -> Iterator[str]:
    """The path of a private index file, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="rekindle-index-") as folder:
        yield os.path.join(folder, "index")


def write(place: TreePlace, session: str, limit: int, last: str | None) -> TreeObject:
    """Write the whole work tree, without what git ignores, as a tree object. `last` is the session's newest one."""
    sources = [os.path.join(place.git_dir, "index"), os.path.join(place.common, "info", "exclude")]
    with borrowed(place.git_dir, session, sources) as index:
        ours = place.git.with_index(index.path)
        tree = _from_the_last(ours, index, limit, last) or _from_the_users(ours, index, limit)
        if tree is None:
            index.discard()
            if place.head is not None:
                ours.output("read-tree", place.head)
            tree = _write(ours, index, _listed(ours), limit)
        index.keep(tree.id)
        return tree


def _from_the_last(ours: Git, index: PrivateIndex, limit: int, last: str | None) -> TreeObject | None:
    """By way of the index that the last snapshot left. None without it, or if what is ignored may have changed."""
    if last is None or not index.recall(last):
        return None
    top = os.fsencode(ours.folder)
    if any(not is_gone(top, path) for path in index.dropped):
        return None  # git lists what it does not know only if nothing ignores it; the user's index may know it
    try:
        listed = _listed(ours)
        if not listed.tracked and not listed.others:
            return TreeObject(last)
        if any(_is_about_ignoring(path) for path in (*listed.tracked, *listed.others)):
            return None
        # All else in the index is in the last snapshot's tree, which a ref keeps: it need not be looked for again.
        return _write(ours, index, listed, limit, "--missing-ok")
    except GitFailed:
        return None


def _from_the_users(ours: Git, index: PrivateIndex, limit: int) -> TreeObject | None:
    """By way of a copy of the user's index. None without it, or if git does not understand it."""
    try:
        return _write(ours, index, _listed(ours), limit) if index.begin_with_the_users() else None
    except GitFailed:
        return None


def _is_about_ignoring(path: bytes) -> bool:
    return path.rpartition(b"/")[2] == b".gitignore"


class _Listed(msgspec.Struct, frozen=True):
    """What may differ from the index: what it has, and what it has not."""

    tracked: list[bytes]
    others: list[bytes]


def _listed(git: Git) -> _Listed:
    """Run both at once: each has to check every file or folder."""
    changed, others = git.outputs(
        ("diff-files", "-z", "--name-only", "--ignore-submodules=dirty"),
        ("ls-files", "-z", "--others", "--exclude-standard"),
    )
    return _Listed(list(dict.fromkeys(_split(changed))), _split(others))


def _split(listed: bytes) -> list[bytes]:
    return [path for path in listed.split(b"\0") if path]


def _write(git: Git, index: PrivateIndex, listed: _Listed, limit: int, *how: str) -> TreeObject:
    top = os.fsencode(git.folder)
    gone = [path for path in listed.tracked if is_gone(top, path)]
    left_out: list[LeftOut] = []
    wanted: list[bytes] = []
    missing = set(gone)
    there = [path for path in listed.tracked if path not in missing]
    held = withheld.held(git, [*there, *listed.others])
    # Tracked paths first: a file that became a folder has to leave before what is in the folder can come.
    for path in (*there, *listed.others):
        if path in held:
            continue
        why = _why_not(git, top, path, limit)
        if why is None:
            wanted.append(path.removesuffix(b"/"))
        else:
            left_out.append(LeftOut(path, why))
    if left_out or held or len(wanted) < _MANY or git.run("add", "--all").returncode != 0:
        _update(git, "--force-remove", gone)
        left_out += _add(git, wanted)
    # What is left out is not in the tree with an older content either: a restore would put that over the newer one.
    _update(git, "--force-remove", [one.path.removesuffix(b"/") for one in left_out])
    index.dropped += [*gone, *(one.path for one in left_out)]
    # What is held back stays in it as git has it: only its filter could tell whether it has changed.
    left_out += [LeftOut(path, withheld.why(name)) for path, name in held.items()]
    return TreeObject(git.output("write-tree", *how).decode().strip(), tuple(left_out))


def addable(git: Git) -> tuple[list[bytes], dict[bytes, str]]:
    """What a commit of everything would take in, and what is held back from it, with the filter that it needs."""
    listed = _listed(git)
    paths = [*listed.tracked, *listed.others]
    held = withheld.held(git, paths)
    return [path for path in paths if path not in held], held


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
    inner = git.at(os.path.join(git.folder, os.fsdecode(path)))
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
