"""Whether one commit has what another one changed: by file, or by line if the file changed further."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from rekindle.adapters.git.git import Git
from rekindle.core.feature.strays import Found, holds

#: A change of more files than this is not compared: a person is asked instead.
_MOST_FILES = 300
_FILES = ("100644", "100755")
_ABSENT = "000000"


class Change(msgspec.Struct, frozen=True):
    """How one path changed: mode and content before and after. Mode 000000: it does not exist."""

    old_mode: str
    mode: str
    old: str
    new: str

    @property
    def is_of_old(self) -> bool:
        """Whether the path was there before."""
        return self.old_mode != _ABSENT

    @property
    def is_of_new(self) -> bool:
        """Whether the path is there after."""
        return self.mode != _ABSENT

    def undoes(self, other: Change) -> bool:
        """Whether the path is after this as it was before another change."""
        return (self.mode, self.new) == (other.old_mode, other.old)


def has_stash(folder: str, stash: str, parents: tuple[str, ...], rival: str) -> bool:
    """Whether a commit has everything that a stash entry has: its changes, and its untracked files."""
    git = Git(folder)
    pairs: list[tuple[str | None, str]] = [(parents[0], stash), *((None, one) for one in parents[2:3])]
    return all(_has(git, changes(git, old, new), new, rival) for old, new in pairs)


@lru_cache(maxsize=4096)
def compare(folder: str, commit: str, rival: str) -> Found:
    """What a rival has of a commit. Both are commits, so that the answer never changes."""
    git = Git(folder)
    base = git.line("merge-base", commit, rival)
    if _has(git, changes(git, base, commit), commit, rival):
        return "everything"
    parents = (git.line("rev-list", "--parents", "--max-count=1", commit) or "").split()[1:]
    own = changes(git, parents[0] if parents else None, commit)
    if len(parents) > 1:
        both = set(git.output("diff-tree", "-c", "--no-commit-id", "--name-only", "-r", "-z", commit).split(b"\0"))
        own = {path: change for path, change in own.items() if path in both}
    return "itself" if _has(git, own, commit, rival) else "nothing"


def changes(git: Git, old: str | None, new: str) -> dict[bytes, Change]:
    """How each path changed between two commits; without an old one, everything in the new one."""
    which = (old, new) if old is not None else ("--root", "--no-commit-id", new)
    told = git.output("diff-tree", "-r", "-z", "--no-renames", "--raw", "--full-index", *which).split(b"\0")
    pairs = zip(told[0::2], told[1::2], strict=False)
    return {path: Change(*about.decode().removeprefix(":").split(" ")[:4]) for about, path in pairs}


def _has(git: Git, wanted: dict[bytes, Change], commit: str, rival: str) -> bool:
    """Whether the rival's files have these changes, which led to the commit's."""
    differ = {path: there for path, there in changes(git, commit, rival).items() if path in wanted}
    if len(differ) > _MOST_FILES or not all(_may_have(wanted[path], there) for path, there in differ.items()):
        return False
    blobs = {blob for path, there in differ.items() for blob in (wanted[path].old, there.old, there.new)}
    texts = _contents(git, (blob for blob in blobs if blob.strip("0")))
    return all(
        holds(texts.get(wanted[path].old), texts.get(there.old), texts.get(there.new))
        for path, there in differ.items()
        if there.old != there.new
    )


def _may_have(change: Change, there: Change) -> bool:
    """Only files are compared by line; links, submodules and deletions either match or not."""
    is_mode_kept = change.old_mode in (change.mode, _ABSENT) or there.mode == change.mode
    return change.mode in _FILES and there.mode in _FILES and is_mode_kept


def _contents(git: Git, blobs: Iterable[str]) -> dict[str, bytes]:
    wanted = list(blobs)
    if not wanted:
        return {}
    told = git.output("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in wanted).encode())
    found, place = {}, 0
    for blob in wanted:
        end = told.index(b"\n", place)
        size = int(told[place:end].split()[2])
        place = end + 1
        found[blob] = told[place : place + size]
        place += size + 1
    return found
