"""Merges, in a worktree of our own. The feature's branch moves in one step, and only if nobody else has moved it."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.adapters.feature_git.containing import changes
from rekindle.adapters.feature_git.integration import checked_out, open_integration
from rekindle.adapters.feature_git.place import FeaturePlace, Move
from rekindle.adapters.feature_git.presence import EPOCH, TASK
from rekindle.adapters.feature_git.under_way import merging, settle_index
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import registered
from rekindle.core.feature import naming
from rekindle.core.git_complaints import reason
from rekindle.ports.errors import GitFailed
from rekindle.ports.feature import Merged


def merge(place: FeaturePlace, task: str, branch: str, tip: str, epoch: str, message: str, *, tries: int = 3) -> Merged:
    """Merge a commit of a task's branch into the feature's branch, or finish a merge whose conflicts are resolved.

    A commit that somebody else already merged into the feature gets a merge commit of ours too, which changes no
    file. It does not vouch for work that their merge left out.
    """
    target = _free_target(place)
    text = f"{message}\n\n{TASK}: {place.feature}/{task}\n{EPOCH}: {epoch}\n"
    if (ours := _merged_before(place, task, tip, epoch, target)) is not None:
        return Merged(ours)
    found = _Made()
    if place.is_ancestor(tip, target):
        base = place.ref(naming.base_ref(place.feature, task))
        _refuse_nothing(place, branch, tip, base)
        if base is not None and (left_out := _left_out(place.git, base, tip, target)):
            return Merged(None, left_out=left_out)
        made = place.commit_tree(f"{target}^{{tree}}", (target, tip), text)
    else:
        found = _made(place, branch, tip, target, text)
        if found.commit is None:
            return Merged(None, found.conflicts)
        made = found.commit
    try:
        _publish(place, task, made, target)
    except GitFailed:
        if tries > 1 and place.tip(place.branch) != target:  # somebody else was faster: merge into what it is now
            if found.by_git:
                place.at(place.integration).output("checkout", "--quiet", "--detach", target)
            return merge(place, task, branch, tip, epoch, message, tries=tries - 1)
        raise
    return Merged(made)


def _merged_before(place: FeaturePlace, task: str, tip: str, epoch: str, target: str) -> str | None:
    """Our merge of this commit, if the feature has it: its process may have been killed before recording it."""
    done = place.ref(naming.done_ref(place.feature, task))
    if done is None or not place.is_ancestor(done, target) or not place.is_ancestor(tip, done):
        return None
    if place.git.line("log", "--max-count=1", f"--format=%(trailers:key={EPOCH},valueonly,separator=)", done) != epoch:
        return None
    last = place.ref(naming.merged_ref(place.feature))
    if last is None or place.is_ancestor(last, done):
        place.put_ref(naming.merged_ref(place.feature), done)
    return done


def _publish(place: FeaturePlace, task: str, made: str, target: str) -> None:
    """Move the feature's branch together with our records of it.

    A process killed in the middle of a transaction leaves some of its refs moved, the branch first: so the merge is
    also recorded before that.
    """
    done = naming.done_ref(place.feature, task)
    place.put_ref(done, made)
    place.move(
        Move(f"refs/heads/{place.branch}", made, target),
        Move(naming.merged_ref(place.feature), made),
        Move(done, made),
    )


def _refuse_nothing(place: FeaturePlace, branch: str, tip: str, base: str | None) -> None:
    if base is not None and place.is_ancestor(tip, base):
        raise GitFailed(f"{branch} has nothing that {place.branch} lacks", "look at both with `git log`")


def _left_out(git: Git, base: str, tip: str, target: str) -> tuple[str, ...]:
    """The files that work changed, and that the merge which brought it in has as they were before, and so has the tip.

    What a later commit removed again does not count: the history shows it.
    """
    since = git.output("rev-list", "--ancestry-path", f"{tip}..{target}").split()
    line = git.output("rev-list", "--first-parent", f"{tip}..{target}").split()
    brought = next((commit.decode() for commit in reversed(line) if commit in since), None)
    if brought is None or git.line("rev-parse", f"{brought}^1") == tip:
        return ()
    wanted = changes(git, base, tip)
    in_both = [changes(git, tip, commit) for commit in (brought, target)]
    return tuple(
        path.decode("utf-8", "replace")
        for path, change in wanted.items()
        if all(path in found and found[path].undoes(change) for found in in_both)
    )


@dataclass(frozen=True)
class _Made:
    """A merge commit, or which files conflict. `by_git`: nobody had to resolve anything, so it can be redone."""

    commit: str | None = None
    conflicts: tuple[str, ...] = ()
    by_git: bool = False


def _made(place: FeaturePlace, branch: str, tip: str, target: str, text: str) -> _Made:
    """Merge in the integration worktree, or finish the merge that is there."""
    git = place.at(open_integration(place, target, tip))
    under_way = merging(place, target)
    if under_way is not None and under_way.conflicts:
        return _Made(conflicts=under_way.conflicts)
    if under_way is not None and under_way.commit is not None:
        return _Made(_adopted(place, git, under_way.commit, (target, tip), text))
    if under_way is not None:
        settle_index(git)
        done = place.commit(git.folder, "commit", "-m", text)
    else:
        done = place.commit(git.folder, "merge", "--no-ff", "--no-verify-signatures", "--no-stat", "-m", text, tip)
    if done.returncode == 0:
        return _Made(place.head(git.folder), by_git=under_way is None)
    under_way = merging(place, target)
    if under_way is None or not under_way.conflicts:
        raise _refused(branch, git, done.stderr)
    return _Made(conflicts=under_way.conflicts)


def _adopted(place: FeaturePlace, git: Git, commit: str, parents: tuple[str, str], text: str) -> str:
    """A merge that somebody committed, turned into ours: with our message; their later commits stay."""
    if (git.line("rev-list", "--parents", "--max-count=1", commit) or "").split()[1:] != list(parents):
        return place.commit_tree(f"{commit}^{{tree}}", (parents[0], commit), text)
    done = place.commit(git.folder, "commit", "--amend", "--only", "--allow-empty", "-m", text)
    if done.returncode != 0:
        raise _refused(commit[:12], git, done.stderr)
    return place.head(git.folder) or commit


def _refused(what: str, git: Git, stderr: bytes) -> GitFailed:
    return GitFailed(f"{what} cannot be merged: {reason(stderr)}", f"look at it in {git.folder}")


def _free_target(place: FeaturePlace) -> str:
    target = place.tip(place.branch)
    if target is None:
        raise GitFailed(f"{place.branch} is gone", f"make it again: git branch {place.branch} COMMIT")
    holder = next((one for one in registered(place.git) if one.branch == place.branch), None)
    if holder is not None:
        raise checked_out(place, holder.path)
    return target
