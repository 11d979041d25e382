"""Moves strays to their task's branch, or leaves them where they are, as a person decided."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from rekindle.adapters.feature_git import leftovers, strays
from rekindle.adapters.feature_git.observing import is_dirty
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.feature_git.task_worktrees import commit
from rekindle.adapters.feature_git.under_way import unmerged
from rekindle.adapters.git import repository
from rekindle.core.feature import naming
from rekindle.core.feature.strays import Stray, told
from rekindle.core.git_complaints import reason
from rekindle.ports.errors import FeatureBlocked

_UNFINISHED = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


def commit_there(place: FeaturePlace, task: str, path: str, *, on_its_branch: bool) -> str:
    """Commit what a worktree with something else checked out has, on that branch or beside it; returns the commit."""
    refuse_unfinished(path)
    git = place.at(path)
    if not on_its_branch:
        git.output("switch", "--quiet", "--detach")  # keeps the files as they are
    left = leftovers.of(place, task, path)
    commit(place, path, f"What the agent of task {task} had not committed", left)
    if left:
        leftovers.put_away(place, task, path)
    made = git.output("rev-parse", "HEAD").decode().strip()
    if is_dirty(git):
        raise FeatureBlocked(f"not all changes in {path} can be committed", "see what `git status` says there")
    if not on_its_branch:
        place.put_ref(naming.stray_ref(place.feature, task, "detached", made), made)
    return made


def refuse_unfinished(path: str) -> None:
    """An unfinished rebase or merge is neither taken nor left: the person who started it has to finish it."""
    found = repository.find(path)
    folder = found.git_dir if found is not None else path
    for name, what in _UNFINISHED.items():
        if os.path.lexists(os.path.join(folder, name)):
            here = f"git -C {shlex.quote(path)} {what}"
            raise FeatureBlocked(
                f"a {what} is under way in {path}", f"finish it ({here} --continue) or end it ({here} --abort)"
            )


def take(place: FeaturePlace, task: str, branch: str, path: str, found: Sequence[Stray]) -> None:
    """Put the strays on the task's branch, which is checked out and clean. What conflicts changes nothing."""
    git = place.at(path)
    refuse_unfinished(path)
    commit_there(place, task, path, on_its_branch=True)
    start = git.output("rev-parse", "HEAD").decode().strip()
    strays.keep(place, task, [one for one in found if one.commit], path)
    for one in _heads(place, [one for one in found if one.commit and one.kind != "stash"]):
        text = f"Take {one.commit[:10]} of task {task}: {one.subject}"
        words = ("merge", "--ff", "--no-verify-signatures", "--no-stat", "-m", text, one.commit)
        done = place.commit(path, *words)
        if done.returncode != 0:
            raise _conflict(place, task, path, branch, one, start, reason(done.stderr))
    for one in (one for one in found if one.kind == "stash"):
        done = git.run("stash", "apply", "--quiet", one.commit)
        if done.returncode != 0:
            raise _conflict(place, task, path, branch, one, start, reason(done.stderr))
        commit(place, path, f"Take {one.commit[:10]} of task {task} from the stash: {one.subject}")
    strays.forget(place, task, {one.commit for one in found}, git.output("rev-parse", "HEAD").decode().strip())


def _heads(place: FeaturePlace, found: Sequence[Stray]) -> list[Stray]:
    """Those that no other one builds on, oldest first."""
    if len(found) < 2:
        return list(found)
    told_ = place.git.output("merge-base", "--independent", *(one.commit for one in found)).decode().split()
    return [one for one in found if one.commit in told_]


def _conflict(
    place: FeaturePlace, task: str, path: str, branch: str, stray: Stray, start: str, said: str
) -> FeatureBlocked:
    """Undo what was started. The worktree was clean: all that is in it now came with the stray, which is kept."""
    git = place.at(path)
    files = ", ".join(name for name, _ in unmerged(git)) or said
    git.run("reset", "--quiet", "--hard", start)
    git.output("clean", "--quiet", "-d", "--force")
    here, feature = f"git -C {shlex.quote(path)}", shlex.quote(place.feature)
    how = f"{here} stash apply {stray.commit[:10]}" if stray.kind == "stash" else f"{here} merge {stray.commit[:10]}"
    return FeatureBlocked(
        f"{told(stray)} conflicts with {branch}: {files}; nothing was changed",
        f"take it by hand ({how}, resolve it, commit), then `rekindle resume {feature}`; "
        f"or leave it out: rekindle resume {feature} --leave {shlex.quote(task)}",
    )
