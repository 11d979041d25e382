"""The copy of a commit that a reviewer works in: a worktree of its own, whose changes never get into the work."""

from __future__ import annotations

import os

from rekindle.adapters.feature_git.homes import registered_at
from rekindle.adapters.feature_git.keeping import saved
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.task_worktrees import add_detached, cleared_of_unfinished
from rekindle.core.feature import naming


def path_of(place: FeaturePlace, task: str) -> str:
    """Where the copy of a task's reviewer is."""
    return os.path.join(place.trees, naming.copy_folder(task))


def make(place: FeaturePlace, task: str, tip: str) -> str | None:
    """Provide a copy of this commit; returns where changes found in an older copy are kept."""
    path = path_of(place, task)
    listed = cleared_of_unfinished(place, path)
    known = registered_at(path, listed)
    if known is not None and os.path.isdir(path) and place.is_sound(path):
        kept = _keep(place, task, path)
        git = place.at(path)
        git.output("checkout", "--quiet", "--force", "--detach", tip)
        git.output("clean", "--quiet", "-d", "--force")
        return kept
    add_detached(place, path, tip, known)
    return None


def drop(place: FeaturePlace, task: str) -> str | None:
    """Remove the copy; returns where its reviewer's changes are kept."""
    path = path_of(place, task)
    if not os.path.isdir(path) or not place.is_sound(path):
        return None
    kept = _keep(place, task, path)
    place.git.output("worktree", "remove", "--force", path)
    return kept


def _keep(place: FeaturePlace, task: str, path: str) -> str | None:
    """Keep under a ref whatever is in a copy beyond its commit."""
    git = place.at(path)
    found = saved(place, path, f"What the reviewer of task {task} changed in its copy", whole=True)
    head = git.line("rev-parse", "HEAD")
    if found is None and head is not None:
        known = git.output("for-each-ref", "--count=1", "--contains", head, "refs/heads", "refs/rekindle/kept")
        found = head if not known else None
    if found is None:
        return None
    ref = naming.kept_ref(place.feature, "review", f"{naming.branch_word(task)}-{found[:12]}")
    place.put_ref(ref, found)
    return ref
