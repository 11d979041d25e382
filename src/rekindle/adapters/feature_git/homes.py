"""Where git has the worktrees of tasks, where they would be made, and what prevents that."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.git import pointers
from rekindle.adapters.git.linked_worktrees import UNFINISHED
from rekindle.adapters.git.worktree_files import Registered
from rekindle.core.feature import naming
from rekindle.core.git_names import is_git_name
from rekindle.core.reconcile import homes
from rekindle.files import is_below
from rekindle.ports.errors import FeatureBlocked, ForeignRepository


def find_homes(
    place: FeaturePlace,
    tasks: Mapping[str, str],
    recorded: Mapping[str, str],
    known: Sequence[Registered],
    existing: Collection[str],
) -> dict[str, str]:
    """The path of each task's worktree. `tasks` are branches by task, `recorded` the journal's paths by branch."""
    linked = [
        homes.Linked(path, tree.branch, _is_there(place, path), is_below(path, _top(place)))
        for tree in known[1:]  # the first is the user's own checkout
        for path in [place.real(tree.path)]
        if os.path.basename(path) != naming.INTEGRATION and tree.locked != UNFINISHED
    ]
    if place.shared_tree:
        return _shared(place, tasks, linked)
    meant = set(tasks.values())
    records = {branch: _record(place, path, known) for branch, path in recorded.items() if branch in meant}
    top = _top(place)
    folder = homes.Folder(lambda branch: _plain(place, top, branch), lambda branch: _unique(place, top, branch))
    return homes.homes(tasks, linked, records, existing, folder)


def _is_there(place: FeaturePlace, path: str) -> bool:
    """Whether a worktree exists and is not another repository's: a copy also lists those of its original."""
    if not os.path.isdir(path):
        return False
    try:
        told = pointers.git_file(os.path.join(path, ".git"))
    except (OSError, ForeignRepository):
        return True
    real = place.real(os.path.join(path, told)) if told is not None else ""
    theirs = os.path.basename(os.path.dirname(real)) == "worktrees" and os.path.isdir(real)
    return not theirs or os.path.dirname(real) == os.path.join(place.real(place.common), "worktrees")


def _top(place: FeaturePlace) -> str:
    """The folder of the worktrees of all features."""
    return place.real(os.path.dirname(place.trees))


def _plain(place: FeaturePlace, top: str, branch: str) -> str:
    return os.path.join(top, os.path.basename(place.trees), os.path.basename(place.tree(branch)))


def _unique(place: FeaturePlace, top: str, branch: str) -> str:
    return os.path.join(os.path.dirname(_plain(place, top, branch)), naming.branch_word(branch))


def _shared(place: FeaturePlace, tasks: Mapping[str, str], linked: Sequence[homes.Linked]) -> dict[str, str]:
    """All tasks in one worktree, except those that already have another one."""
    held = {one.branch: one.path for one in linked if one.exists and one.inside}
    top = _top(place)
    return {task: held.get(branch, _plain(place, top, branch)) for task, branch in tasks.items()}


def _record(place: FeaturePlace, path: str, known: Sequence[Registered]) -> homes.RecordedHome:
    """A path of the journal's. Fit is one in the folder of worktrees, by no link, that no other worktree is around."""
    top = _top(place)
    real = place.real(os.path.join(place.root, path))
    parts = os.path.relpath(real, top).split(os.sep)
    around = (place.real(tree.path) for tree in known[1:])
    fit = (
        not any(part.startswith(".") or is_git_name(part) for part in parts)
        and not is_below(os.path.join(top, os.path.basename(place.trees)), real)
        and not any(is_below(real, tree) and real != tree for tree in around)
    )
    return homes.RecordedHome(real, fit)


def obstacle(place: FeaturePlace, path: str, branch: str, known: Sequence[Registered]) -> FeatureBlocked | None:
    """Why a branch cannot be checked out at a path, with what a person can do about it; None if it can."""
    holder = next(
        (tree for tree in known if tree.branch == branch and place.real(tree.path) != place.real(path)),
        None,
    )
    if holder is not None and _is_there(place, holder.path):
        return FeatureBlocked(
            f"{branch} is checked out in {holder.path}",
            f"free it there (git -C {holder.path} switch --detach), then resume the feature",
        )
    if place.is_linked_away(path):
        return FeatureBlocked(f"there is a symbolic link on the way to {path}", "take the link away, then resume")
    here = registered_at(path, known)
    if here is not None and os.path.isdir(path):
        return None
    if here is not None and here.locked is not None and here.locked != UNFINISHED:
        return FeatureBlocked(
            f"the worktree {path} is gone, but locked{f' ({here.locked})' if here.locked else ''}",
            f"unlock it (git worktree unlock {path}), then resume the feature",
        )
    return in_the_way(path)


def in_the_way(path: str) -> FeatureBlocked | None:
    """What is at the path of a new worktree; None if there is nothing."""
    if not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path)):
        return None
    return FeatureBlocked(f"{path} is in the way: it is no worktree of this repository", "move it away, then resume")


def is_emptied(place: FeaturePlace, tree: Registered) -> bool:
    """Whether a folder that is no longer a worktree has lost every file of its commit."""
    if tree.head is None or not tree.head.strip("0"):
        return False  # a git that was killed while it made the worktree had no commit in it yet
    names = place.git.output("ls-tree", "--name-only", "-z", tree.head).split(b"\0")[:-1]
    folder = os.fsencode(tree.path)
    return bool(names) and not any(os.path.lexists(os.path.join(folder, name)) for name in names)


def is_removed(place: FeaturePlace, path: str, known: Sequence[Registered]) -> bool:
    """Whether a worktree is missing, or has lost its `.git` and every file: its contents are then unknown."""
    if not os.path.isdir(path):
        return True
    here = registered_at(path, known)
    if here is None:
        return not os.listdir(path)
    return not place.is_sound(path) and is_emptied(place, here)


def registered_at(path: str, known: Sequence[Registered]) -> Registered | None:
    """The worktree that git has registered at a path."""
    real = os.path.realpath(path)
    return next((tree for tree in known if os.path.realpath(tree.path) == real), None)
