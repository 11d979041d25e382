"""What can be decided about a session's worktree without looking at one: its names, and what to tell a person.

Trees are mappings from path to what is there (mode and object); paths are bytes, because git has no encoding. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

#: A longer list of names helps nobody.
MOST_NAMES = 50

Tree = Mapping[bytes, str]


def branch_of(name: str) -> str:
    """The branch of a worktree: a name with a slash already is a branch's name."""
    return name if "/" in name else f"rekindle/{name}"


def folder_of(name: str) -> str:
    """The folder of a worktree: one level, so that none is inside another."""
    return name.replace("/", "-")


class Combined(msgspec.Struct, frozen=True):
    """The merge of two trees, and the paths on which they conflict."""

    tree: dict[bytes, str]
    conflicts: list[bytes]


def combine(base: Tree, branch: Tree, snapshot: Tree) -> Combined:
    """The current branch plus what a snapshot, taken when the branch was at `base`, had beyond it.

    If both have changed a path, or one needs a folder where the other has a file, the branch's version stays.
    """
    tree = dict(branch)
    conflicts: set[bytes] = set()
    for path in {*base, *snapshot}:
        old, now, kept = base.get(path), branch.get(path), snapshot.get(path)
        if kept in (old, now):
            continue
        if now != old:
            conflicts.add(path)
        elif kept is None:
            del tree[path]
        else:
            tree[path] = kept
    folders = {folder for path in branch if path in tree for folder in _folders(path)}
    for path in [path for path in tree if path not in branch]:
        if path in folders or any(folder in tree and folder in branch for folder in _folders(path)):
            del tree[path]
            conflicts.add(path)
    return Combined(tree, sorted(conflicts))


def lost(base: str | None, head: str | None, uncommitted: Collection[bytes], changed: Collection[bytes]) -> list[bytes]:
    """What was uncommitted when a snapshot was taken at `base`, and differs now that `head` is checked out.

    Without such a move, somebody has simply edited the files.
    """
    return sorted(set(uncommitted) & set(changed)) if base != head else []


def listed(paths: Iterable[bytes], most: int = MOST_NAMES) -> list[str]:
    """Paths for a person or an agent: sorted, one line each, not too many."""
    found = sorted(set(paths))
    names = [readable(path) for path in found[:most]]
    return [*names, f"and {len(found) - most} more"] if len(found) > most else names


def readable(path: bytes) -> str:
    """A path as one line of text, whatever bytes are in it."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def _folders(path: bytes) -> list[bytes]:
    return [path[:end] for end in range(len(path)) if path[end : end + 1] == b"/"]
