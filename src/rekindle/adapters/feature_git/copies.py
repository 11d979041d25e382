"""The copy of a commit that a reviewer works in: a worktree of its own, whose changes get into nobody's work."""

from __future__ import annotations

import os

from rekindle.adapters.feature_git.leftovers import saved
from rekindle.adapters.feature_git.place import Place
from rekindle.adapters.feature_git.trees import cleared_of_unfinished
from rekindle.adapters.worktrees import add_worktree
from rekindle.core.feature import naming
from rekindle.ports.errors import FeatureBlocked


def path_of(place: Place, task: str) -> str:
    """Where the copy of a task's reviewer is."""
    return os.path.join(place.trees, naming.copy_folder(task))


def make(place: Place, task: str, tip: str) -> str | None:
    """Have a copy of this commit; returns where changes are kept that were found in an older copy."""
    path = path_of(place, task)
    listed = cleared_of_unfinished(place, path)
    known = next((one for one in listed if os.path.realpath(one.path) == os.path.realpath(path)), None)
    if known is not None and os.path.isdir(path) and place.is_sound(path):
        kept = _keep(place, task, path)
        git = place.at(path)
        git.output("checkout", "--quiet", "--force", "--detach", tip)
        git.output("clean", "--quiet", "-d", "--force")
        return kept
    if os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise FeatureBlocked(f"{path} is in the way: it is no worktree of this repository", "move it away, then resume")
    os.makedirs(place.trees, exist_ok=True)
    again = ["--force"] if known is not None else []
    add_worktree(place.git, path, *again, "--detach", path, tip)
    return None


def drop(place: Place, task: str) -> str | None:
    """Put the copy away; returns where changes are kept that its reviewer has made."""
    path = path_of(place, task)
    if not os.path.isdir(path) or not place.is_sound(path):
        return None
    kept = _keep(place, task, path)
    place.git.output("worktree", "remove", "--force", path)
    return kept


def _keep(place: Place, task: str, path: str) -> str | None:
    """Whatever is in a copy beyond the commit that it was made of goes under a ref."""
    git = place.at(path)
    found = saved(place, path, f"What the reviewer of task {task} changed in its copy")
    head = git.line("rev-parse", "HEAD")
    if found is None and head is not None:
        known = git.output("for-each-ref", "--count=1", "--contains", head, "refs/heads", "refs/rekindle/kept")
        found = head if not known else None
    if found is None:
        return None
    ref = naming.kept_ref(place.feature, "review", f"{naming.branch_word(task)}-{found[:12]}")
    place.put_ref(ref, found)
    return ref
