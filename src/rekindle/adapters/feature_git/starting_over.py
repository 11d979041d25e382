"""Tasks that start over: their old tips stay under private refs, their branches and worktrees are removed."""

from __future__ import annotations

import os
from collections.abc import Mapping

from rekindle.adapters.feature_git.observing import is_dirty
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.task_worktrees import commit, is_shared, mend, remove_clean
from rekindle.adapters.git.linked_worktrees import registered
from rekindle.core.feature import naming
from rekindle.ports.errors import FeatureBlocked
from rekindle.ports.feature import StartedOver


def start_over(
    place: FeaturePlace, tasks: Mapping[str, str], homes: Mapping[str, str], epoch: str, *, whole: bool
) -> StartedOver:
    """Keep the tips of the tasks' branches under private refs, then take branches and worktrees (`homes`) away."""
    kept: dict[str, str] = {}
    for task, branch in tasks.items():
        tip = place.tip(branch)
        tree = next((one for one in registered(place.git) if one.branch == branch), None)
        if tree is not None and os.path.realpath(tree.path) != os.path.realpath(homes[task]):
            raise FeatureBlocked(
                f"{branch} is checked out in {tree.path}", f"free it: git -C {tree.path} switch --detach; then resume"
            )
        if tree is not None and tree.locked is not None:
            raise FeatureBlocked(
                f"the worktree {tree.path} is locked", f"unlock it: git worktree unlock {tree.path}; then resume"
            )
        if tree is not None and os.path.isdir(tree.path):
            mend(place, tree.path)
            if is_dirty(place.at(tree.path)):
                commit(place, tree.path, f"What {task} had not committed when it was started over")
                tip = place.tip(branch)
            if is_shared(place, tree.path):
                place.at(tree.path).output("switch", "--quiet", "--detach")
            elif not remove_clean(place, tree.path):
                raise FeatureBlocked(
                    f"{tree.path} has a repository inside, which may have commits of its own",
                    f"save them, then: git worktree remove --force {tree.path}",
                )
        elif tree is not None:
            place.git.output("worktree", "remove", "--force", tree.path)
        if tip is not None:
            kept[branch] = naming.kept_ref(place.feature, epoch, branch)
            place.put_ref(kept[branch], tip)
            place.drop_ref(f"refs/heads/{branch}", tip)
        for name in (naming.done_ref, naming.base_ref, naming.left_ref):
            place.drop_ref(name(place.feature, task))
    if whole:
        kept |= _feature_start_over(place, epoch)
    return StartedOver(kept)


def _feature_start_over(place: FeaturePlace, epoch: str) -> dict[str, str]:
    """Put the feature's branch back to where it began, unless somebody else has commits on it."""
    tip = place.tip(place.branch)
    base = place.ref(naming.base_ref(place.feature))
    last = place.ref(naming.merged_ref(place.feature))
    if tip is None or base is None or tip == base or tip != last:
        return {}
    holder = next((one for one in registered(place.git) if one.branch == place.branch), None)
    if holder is not None:
        raise FeatureBlocked(
            f"{place.branch} is checked out in {holder.path}; it is not moved under you",
            f"free it (git -C {holder.path} switch --detach), then resume",
        )
    ref = naming.kept_ref(place.feature, epoch, place.branch)
    place.put_ref(ref, tip)
    place.set_ref(f"refs/heads/{place.branch}", base, tip)
    place.drop_ref(naming.merged_ref(place.feature))
    return {place.branch: ref}
