"""Merges, in a worktree of our own. The feature's branch moves in one step, and only if nobody else has moved it."""

from __future__ import annotations

import contextlib
import os

from rekindle.adapters.feature_git.observing import EPOCH, TASK, is_dirty, merging, unmerged
from rekindle.adapters.feature_git.place import DURABLE, Move, Place
from rekindle.adapters.feature_git.trees import cleared_of_unfinished, last_words, mend, remove_clean
from rekindle.adapters.git import Git
from rekindle.adapters.worktrees import add_worktree, registered
from rekindle.core.feature import naming
from rekindle.ports.errors import FeatureBlocked, GitFailed
from rekindle.ports.feature import Merged


def merge(place: Place, task: str, branch: str, tip: str, epoch: str, message: str, *, tries: int = 3) -> Merged:
    """Merge a commit of a task's branch into the feature's branch, or finish a merge whose conflicts are resolved.

    A commit that somebody else has brought into the feature gets a merge commit of ours too, which changes no file.
    """
    target = _free_target(place)
    text = f"{message}\n\n{TASK}: {place.feature}/{task}\n{EPOCH}: {epoch}\n"
    if (ours := _merged_before(place, task, tip, epoch, target)) is not None:
        return Merged(ours)
    if place.is_ancestor(tip, target):
        _refuse_nothing(place, task, branch, tip)
        made = place.commit_tree(f"{target}^{{tree}}", (target, tip), text)
    else:
        found = _merged_tree(place, branch, tip, target, text)
        if isinstance(found, Merged):
            return found
        made = found
    try:
        _publish(place, task, made, target)
    except GitFailed:
        if tries > 1 and place.tip(place.branch) != target:  # somebody else was faster: merge into what it is now
            return merge(place, task, branch, tip, epoch, message, tries=tries - 1)
        raise
    return Merged(made)


def _merged_before(place: Place, task: str, tip: str, epoch: str, target: str) -> str | None:
    """Our merge of this commit, where the feature has it: who made it may have been killed before saying so."""
    done = place.git.line("rev-parse", "--quiet", "--verify", naming.done_ref(place.feature, task))
    if done is None or not place.is_ancestor(done, target) or not place.is_ancestor(tip, done):
        return None
    if place.git.line("log", "--max-count=1", f"--format=%(trailers:key={EPOCH},valueonly,separator=)", done) != epoch:
        return None
    last = place.git.line("rev-parse", "--quiet", "--verify", naming.merged_ref(place.feature))
    if last is None or place.is_ancestor(last, done):
        place.put_ref(naming.merged_ref(place.feature), done)
    return done


def _publish(place: Place, task: str, made: str, target: str) -> None:
    """Move the feature's branch with what we remember of it.

    Whoever is killed in the middle of a transaction leaves a part of its refs moved, the branch first: so the merge is
    remembered before that, too.
    """
    done = naming.done_ref(place.feature, task)
    place.put_ref(done, made)
    place.move(
        Move(f"refs/heads/{place.branch}", made, target),
        Move(naming.merged_ref(place.feature), made),
        Move(done, made),
    )


def _refuse_nothing(place: Place, task: str, branch: str, tip: str) -> None:
    base = place.git.line("rev-parse", "--quiet", "--verify", naming.base_ref(place.feature, task))
    if base is not None and place.is_ancestor(tip, base):
        raise GitFailed(f"{branch} has nothing that {place.branch} lacks", "look at both with `git log`")


def _merged_tree(place: Place, branch: str, tip: str, target: str, text: str) -> str | Merged:
    """The merge commit, made in the integration worktree; or which files conflict there."""
    git = place.at(open_integration(place, target, tip))
    under_way = merging(place, target)
    if under_way is not None and under_way.branch_tip == tip:
        if under_way.conflicts:
            return Merged(None, under_way.conflicts)
        if left := [name for name, _ in unmerged(git)]:
            git.output(*DURABLE, "add", "--", *left)
        place.commit(git.folder, "commit", "-m", text)
    elif _is_merge_of(git, target, tip):
        done = place.commit(git.folder, "commit", "--amend", "-m", text)
        if done.returncode != 0:
            raise GitFailed(f"{branch} cannot be merged: {last_words(done.stderr)}", f"look at it in {git.folder}")
    else:
        _refuse_other_merge(git, place)
        _put_back(place, git, target)
        done = place.commit(git.folder, "merge", "--no-ff", "--no-verify-signatures", "--no-stat", "-m", text, tip)
        if done.returncode != 0:
            under_way = merging(place, target)
            if under_way is None or not under_way.conflicts:
                raise GitFailed(f"{branch} cannot be merged: {last_words(done.stderr)}", f"look at it in {git.folder}")
            return Merged(None, under_way.conflicts)
    made = git.line("rev-parse", "HEAD")
    if made is None or made == target:
        raise GitFailed(f"{branch} has nothing that {place.branch} lacks", "look at both with `git log`")
    return made


def _free_target(place: Place) -> str:
    target = place.tip(place.branch)
    if target is None:
        raise GitFailed(f"{place.branch} is gone", f"make it again: git branch {place.branch} COMMIT")
    holder = next((one for one in registered(place.git) if one.branch == place.branch), None)
    if holder is not None:
        raise checked_out(place, holder.path)
    return target


def checked_out(place: Place, where: str) -> FeatureBlocked:
    """The feature's branch is not moved while somebody has it checked out: their files would not follow."""
    return FeatureBlocked(
        f"{place.branch} is checked out in {where}; merges would move it under you",
        f"free it (git -C {where} switch --detach keeps the files as they are), then go on",
    )


def _refuse_other_merge(git: Git, place: Place) -> None:
    if git.line("rev-parse", "--quiet", "--verify", "MERGE_HEAD") is not None:
        raise FeatureBlocked(
            f"an older merge is under way in {place.integration}",
            f"end it (git -C {place.integration} merge --abort), then resume the feature",
        )


def open_integration(place: Place, target: str, tip: str = "") -> str:
    """The integration worktree; made if it is missing, and at `target` where no merge is under way in it.

    A merge of `tip` that is committed there already stays.
    """
    path = place.integration
    listed = cleared_of_unfinished(place, path)
    known = next((one for one in listed if os.path.realpath(one.path) == os.path.realpath(path)), None)
    if known is None or not os.path.isdir(path):
        if os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
            raise FeatureBlocked(
                f"{path} is in the way: it is no worktree of this repository", "move it away, then resume"
            )
        os.makedirs(place.trees, exist_ok=True)
        again = ["--force"] if known is not None else []
        add_worktree(place.git, path, *again, "--detach", path, target)
        return path
    mend(place, path)
    place.free_index(path)
    git = place.at(path)
    under_way = git.line("rev-parse", "--quiet", "--verify", "MERGE_HEAD") is not None
    if not under_way and not _is_merge_of(git, target, tip):
        _put_back(place, git, target)
    return path


def _is_merge_of(git: Git, target: str, tip: str) -> bool:
    """Whether the merge was committed in the integration worktree, by an agent, a person, or a run that was cut."""
    parents = git.line("rev-list", "--parents", "--max-count=1", "HEAD") or ""
    return parents.split()[1:] == [target, tip] and git.run("diff", "--quiet", "HEAD").returncode == 0


def _put_back(place: Place, git: Git, target: str) -> None:
    """Have the integration worktree at `target`. Commits that somebody has made in it are kept by a ref."""
    head = git.line("rev-parse", "HEAD")
    if head is not None and not place.is_ancestor(head, target):
        place.put_ref(naming.kept_ref(place.feature, "integration", head[:12]), head)
    git.output("checkout", "--quiet", "--force", "--detach", target)


def clear_integration(place: Place) -> None:
    """Remove the integration worktree; one with something in it stays."""
    if os.path.isdir(place.integration) and place.is_sound(place.integration):
        place.free_index(place.integration)
        if not is_dirty(place.at(place.integration)):
            remove_clean(place, place.integration)
    with contextlib.suppress(OSError):
        os.rmdir(place.trees)
        os.rmdir(os.path.dirname(place.trees))
