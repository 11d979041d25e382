"""Where the worktree of each task is or will be made: first by what git has registered, then by the journal.

The worktrees may have been named in any way when the tasks were planned. A path in a journal is data: a worktree is
made there only if it is inside the folder of worktrees, and an existing one is used only if git has the task's own
branch checked out in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Linked:
    """A linked worktree that git has registered. `inside`: it is really in the folder of worktrees."""

    path: str
    branch: str | None
    exists: bool = True
    inside: bool = True


@dataclass(frozen=True)
class RecordedHome:
    """The path that the journal has for a branch. `fit`: a worktree may be made there."""

    path: str
    fit: bool = True


@dataclass(frozen=True)
class Folder:
    """How to name worktrees that have no name yet: after the branch, or so that nothing else has the name."""

    plain: Callable[[str], str]
    unique: Callable[[str], str]


def homes(
    tasks: Mapping[str, str],
    linked: Sequence[Linked],
    records: Mapping[str, RecordedHome],
    existing: Collection[str],
    folder: Folder,
) -> dict[str, str]:
    """The path of each task's worktree. `tasks` are the branches by task, `existing` the branches that git has.

    No two tasks get the same path. A worktree that belongs to one task stays its own, whatever is checked out in it.
    """
    held = {one.branch: one for one in linked if one.branch is not None and one.exists}
    claims: dict[str, str] = {}
    for branch in tasks.values():
        if branch in existing and branch not in held:
            claims.setdefault(_claim(branch, records, folder), branch)
    found: dict[str, str] = {}
    for task, branch in tasks.items():
        tree = held.get(branch)
        if tree is None or claims.get(tree.path, branch) != branch:
            continue
        if tree.inside or (branch in records and records[branch].path == tree.path):
            found[task] = tree.path
    used = {*found.values()}
    for task, branch in tasks.items():
        if task not in found:
            ways = _ways(branch, linked, records, folder)
            path = next((path for path in ways if path not in used), None)
            found[task] = path if path is not None else folder.unique(branch)
            used.add(found[task])
    return found


def _claim(branch: str, records: Mapping[str, RecordedHome], folder: Folder) -> str:
    record = records.get(branch)
    return record.path if record is not None and record.fit else folder.plain(branch)


def _ways(branch: str, linked: Sequence[Linked], records: Mapping[str, RecordedHome], folder: Folder) -> list[str]:
    """Where a missing worktree may be made, best first: git may remember where it was."""
    gone = [one.path for one in linked if one.branch == branch and not one.exists and one.inside]
    record = records.get(branch)
    return [*gone, *([record.path] if record is not None and record.fit else []), folder.plain(branch)]
