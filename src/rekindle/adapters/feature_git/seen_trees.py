"""Remembers what was seen in the worktrees of tasks, so that not every look has to read all of their files.

What is remembered is good for deciding that nothing is due. Code that is about to act on a task looks at it again: see
`rekindle.ports.feature.FeatureGit.observe`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

#: Whether there is something to commit, the files of a merge that are not resolved, whether something is withheld.
Changes = tuple[bool, tuple[str, ...], bool]


class SeenTrees:
    """What was seen in the worktrees of one feature."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[object, Changes]] = {}

    def look(self, anew: Collection[str]) -> TreeLook:
        """A look that checks these tasks again."""
        return TreeLook(self, anew)


class TreeLook:
    """One look at all worktrees. `remembered` are the tasks that it did not ask about."""

    def __init__(self, seen: SeenTrees, anew: Collection[str]) -> None:
        self._seen = seen
        self._anew = anew
        self.remembered: set[str] = set()

    def changes(self, task: str | None, key: object, ask: Callable[[], Changes]) -> Changes:
        """What is uncommitted in a worktree. `key` is all that can be told without going through its files."""
        if task is None:
            return ask()
        known = self._seen.known.get(task) if task not in self._anew else None
        if known is not None and known[0] == key:
            self.remembered.add(task)
            return known[1]
        found = ask()
        self._seen.known[task] = (key, found)
        return found
