"""Which git calls failed only because another git was making or removing a worktree at that moment. Pure.

git looks through all worktrees of a repository for many commands (`worktree`, `switch`, `branch`, `bundle --all`), and
gives up on one whose administrative files are not complete yet, or no longer. A moment later the same call succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_READ = re.compile(r"failed to read (?:.*/)?worktrees/([^/\n]+)/commondir: ")
_HEAD = re.compile(r"bad object worktrees/([^/\n]+)/HEAD")
#: The last worktree was removed, and with it the folder in which a new one was about to be made.
_FOLDER = re.compile(r"could not create directory of '(?:.*/)?worktrees/([^/\n]+)': No such file or directory")


def half_made(stderr: bytes) -> str | None:
    """The name of the worktree that git could not read, as it is called in the folder `worktrees`; None: none."""
    said = stderr.decode("utf-8", "surrogateescape")
    found = next(filter(None, (pattern.search(said) for pattern in (_READ, _HEAD, _FOLDER))), None)
    return found.group(1) if found is not None else None


def changes_worktrees(words: Sequence[str]) -> bool:
    """Whether a git command changes which worktrees a repository has."""
    return list(words[:1]) == ["worktree"] and list(words[1:2]) != ["list"]
