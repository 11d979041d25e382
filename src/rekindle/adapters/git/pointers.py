"""The one path that a `.git` file or a `commondir` file holds, as git reads it. Light standard library only.

To git a line break in the middle belongs to the path, and a zero byte ends it. Reading only the first line would
check the configuration of one repository while git works in another, so such a file is refused.
"""

from __future__ import annotations

import os

from rekindle import files
from rekindle.adapters.git.refusal import refused

_PREFIX = b"gitdir: "
#: The longest that git accepts.
_LONGEST = 1 << 20


def git_file(path: str) -> str | None:
    """Where a `.git` file leads, relative to its folder; None if it is none. Raises OSError and ForeignRepository."""
    told = _one_path(path)
    return os.fsdecode(told.removeprefix(_PREFIX)) if told.startswith(_PREFIX) else None


def common_folder(git_dir: str) -> str | None:
    """What `commondir` says in a git folder, relative to it; None without one. Raises OSError and ForeignRepository."""
    try:
        return os.fsdecode(_one_path(os.path.join(git_dir, "commondir")))
    except (FileNotFoundError, NotADirectoryError):
        return None


def worktree_file(entry: str) -> str | None:
    """The `.git` file of the worktree that a folder in `worktrees` stands for; None if it names none."""
    from rekindle.ports.errors import ForeignRepository

    try:
        told = os.fsdecode(_one_path(os.path.join(entry, "gitdir")))
    except (OSError, ForeignRepository):
        return None
    return os.path.join(entry, told) if told else None


def _one_path(path: str) -> bytes:
    with os.fdopen(files.open_to_read(path), "rb") as file:
        told = file.read(_LONGEST + 1).rstrip(b"\r\n")
    if len(told) > _LONGEST or any(odd in told for odd in (b"\n", b"\r", b"\0")):
        raise refused(f"{path} holds more than one line", "look at it before you work there")
    return told
