"""The integration worktree: merges are made in it, and the checks of a wave run in it. Nothing of it is thrown away.

Everything in it that is not part of the current merge is kept under a private ref, reported, and then undone.
"""

from __future__ import annotations

import contextlib
import os

from rekindle.adapters.feature_git.homes import registered_at
from rekindle.adapters.feature_git.keeping import keep
from rekindle.adapters.feature_git.observing import is_dirty
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.task_worktrees import add_detached, cleared_of_unfinished, mend, remove_clean
from rekindle.adapters.feature_git.under_way import merging
from rekindle.adapters.git.git import Git
from rekindle.core.feature import naming
from rekindle.ports.errors import FeatureBlocked, RekindleError


def checked_out(place: FeaturePlace, where: str) -> FeatureBlocked:
    """The feature's branch is not moved while somebody has it checked out: their files would not follow."""
    return FeatureBlocked(
        f"{place.branch} is checked out in {where}; merges would move it under you",
        f"free it (git -C {where} switch --detach keeps the files as they are), then go on",
    )


def open_integration(place: FeaturePlace, target: str, tip: str = "") -> str:
    """The integration worktree, created if missing. It is clean and at `target`, or has the merge of `tip` in it."""
    path = place.integration
    listed = cleared_of_unfinished(place, path)
    known = registered_at(path, listed)
    if known is None or not os.path.isdir(path):
        add_detached(place, path, target, known)
        return path
    mend(place, path)
    under_way = merging(place, target)
    if under_way is None or under_way.branch_tip != tip:
        put_back(place, target)
    return path


def put_back(place: FeaturePlace, target: str) -> None:
    """Make the integration worktree clean and at `target`. A ref keeps what was in it."""
    path = place.integration
    git = place.at(path)
    other, head = place.merge_head(path), place.head(path)
    if other is None and head == target and not is_dirty(git):
        return
    keep(place, path, target, naming.INTEGRATION_WORD, _why(place, head, other, target))
    _quit(git)
    git.output("reset", "--quiet", "--hard", "--no-recurse-submodules")
    git.output("clean", "--quiet", "-d", "--force")
    git.output("checkout", "--quiet", "--force", "--detach", target)


def _why(place: FeaturePlace, head: str | None, other: str | None, target: str) -> str:
    if other is not None:
        merge = f"the merge of {other[:12]} that was under way in {place.integration}"
        moved = f"{place.branch} has moved since" if head != target else "another one is due"
        return f"{merge} was given up, because {moved}"
    if head is not None and not place.is_ancestor(head, target):
        return f"commits in {place.integration} that are not on {place.branch} were put aside"
    return f"what was left in {place.integration} was cleaned away"


def _quit(git: Git) -> None:
    """Drop a rebase that somebody started there; its commits are kept with the rest."""
    folder = os.fsdecode(git.output("rev-parse", "--absolute-git-dir").removesuffix(b"\n"))
    if any(os.path.isdir(os.path.join(folder, name)) for name in ("rebase-merge", "rebase-apply")):
        git.run("rebase", "--quit")


def keep_left(place: FeaturePlace, wave: int) -> None:
    """Keep what the checks of a wave left behind. It stays until the worktree is needed again."""
    target = place.tip(place.branch)
    path = place.integration
    if target is not None and os.path.isdir(path) and place.is_sound(path) and is_dirty(place.at(path)):
        keep(place, path, target, f"wave-{wave}", f"the checks of wave {wave} left something behind in {path}")


def clear_integration(place: FeaturePlace) -> None:
    """Remove the integration worktree, and the one that tasks shared. What cannot be removed is reported."""
    target = place.tip(place.branch)
    try:
        if target is not None and os.path.isdir(place.integration) and place.is_sound(place.integration):
            put_back(place, target)
            if not remove_clean(place, place.integration):
                place.tell(f"{place.integration} has a repository inside: it is kept")
        if target is not None and place.shared_tree:
            _clear_shared(place, target)
    except RekindleError as error:  # everything is merged: leftovers do not end a run
        place.tell(f"{error.message} ({error.hint})")
    with contextlib.suppress(OSError):
        os.rmdir(place.trees)
        os.rmdir(os.path.dirname(place.trees))


def _clear_shared(place: FeaturePlace, target: str) -> None:
    """The shared worktree is removed if the feature has all of it; a task that was left out may have work in it."""
    path = os.path.join(place.trees, naming.SHARED)
    if not os.path.isdir(path) or not place.is_sound(path):
        return
    git = place.at(path)
    head = place.head(path)
    if head is None or not place.is_ancestor(head, target) or is_dirty(git):
        place.tell(f"{path} has work that {place.branch} lacks: it is kept")
    elif not remove_clean(place, path):
        place.tell(f"{path} has a repository inside: it is kept")
