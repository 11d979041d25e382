"""Whether a repository is the one it was: the same, moved to another place, or a copy of another one. Pure.

A repository carries its own id. With the id it remembers where it was last seen; a copy carries the same record,
and only the place that it names can tell which of the two is the original.
"""

from __future__ import annotations

from posixpath import join, relpath
from typing import Literal, NamedTuple

Verdict = Literal["same", "moved", "copy"]


class SeenFolder(NamedTuple):
    """A git folder: where it is, and which folder of the file system that is."""

    path: str
    device: int
    inode: int

    @property
    def folder(self) -> tuple[int, int]:
        """What stays the same when a folder is renamed."""
        return self.device, self.inode


class RepositoryIdentity(NamedTuple):
    """What a repository says about itself: its id, and where it was when that was last recorded."""

    id: str
    seen: SeenFolder


def judge(kept: RepositoryIdentity, here: SeenFolder, there: RepositoryIdentity | None) -> Verdict:
    """`here` is the repository that says `kept` about itself, `there` what is at the place that it names.

    `there` has that place's folder as it is now; None if nothing with an id is there.
    """
    if here.path == kept.seen.path:
        return "same"
    if here.folder == kept.seen.folder:
        return "moved"
    if there is not None and there.id == kept.id and there.seen.folder != here.folder:
        return "copy"
    return "moved"


def carried(path: str, old: str, new: str) -> str:
    """A path below `old`, as it reads once `old` is renamed to `new`; any other path stays."""
    inside = relpath(path, old)
    if inside == ".":
        return new
    return path if inside == ".." or inside.startswith("../") else join(new, inside)
