"""Remembers what git said about commits: which one contains which never changes, so git is not asked twice.

Only answers are remembered, never failures: a commit that is missing today may be there tomorrow.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from rekindle.adapters.git.git import Git

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_MOST = 20_000
_Found = TypeVar("_Found")


class CommitAnswers:
    """The answers for one repository."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], object] = {}

    def contains(self, git: Git, commit: str, other: str) -> bool:
        """Whether `other` contains a commit."""
        key = ("contains", commit, other)
        if key in self._known:
            return self._known[key] is True
        status = git.run("merge-base", "--is-ancestor", commit, other).returncode
        if status in (0, 1) and _COMMIT.match(commit) and _COMMIT.match(other):
            self._keep(key, status == 0)
        return status == 0

    def once(self, key: tuple[object, ...], ask: Callable[[], _Found]) -> _Found:
        """An answer that depends only on the commits (and other fixed things) in its key."""
        if key in self._known:
            return self._known[key]  # type: ignore[return-value]
        found = ask()
        self._keep(key, found)
        return found

    def _keep(self, key: tuple[object, ...], found: object) -> None:
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = found
