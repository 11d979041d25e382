"""Branches and worktrees of tasks: made when missing, committed to, and removed when git shows that is safe."""

from __future__ import annotations

import contextlib
import os
import shlex
import time

from rekindle.adapters.feature_git import leftovers, snapshotted, strays
from rekindle.adapters.feature_git.homes import in_the_way, is_emptied, obstacle, registered_at
from rekindle.adapters.feature_git.observing import is_dirty, is_unfinished
from rekindle.adapters.feature_git.place import DURABLE, FeaturePlace
from rekindle.adapters.git import withheld, written_tree
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import add_worktree, link_again, registered
from rekindle.adapters.git.worktree_files import Registered
from rekindle.adapters.snapshots import restoring, taking
from rekindle.core.feature import naming
from rekindle.core.feature.strays import Stray
from rekindle.core.git_complaints import reason
from rekindle.core.reconcile import branches, worktrees
from rekindle.ports.errors import FeatureBlocked, GitFailed, RekindleError
from rekindle.ports.feature import Cleared, Prepared

#: Twice, because git's mark for a worktree that is not finished is a lock.
_FORCE_UNFINISHED = ("--force", "--force")


def make_feature(place: FeaturePlace, base: str) -> str:
    """Make the feature's branch. One that was lost after our merges comes back at the last of them."""
    existing = place.tip(place.branch)
    if existing is not None:
        return existing
    kept = (naming.merged_ref(place.feature), *(() if base else (naming.base_ref(place.feature),)))
    found = (place.ref(ref) for ref in kept)
    start = next(filter(None, found), None) or choose_base(place, base)
    place.set_ref(f"refs/heads/{place.branch}", start, None)
    return start


def find_base(place: FeaturePlace, base: str) -> str:
    """The commit that a feature's branch can start at. Raises FeatureBlocked if there is none."""
    start = place.git.line("rev-parse", "--quiet", "--verify", f"{base or 'HEAD'}^{{commit}}")
    if start is None:
        what = f"there is no commit {base!r}" if base else "the repository has no commit yet"
        raise FeatureBlocked(
            f"{what} that {place.branch} could begin at", "make a first commit, or name one with `base`"
        )
    return start


def choose_base(place: FeaturePlace, base: str) -> str:
    """Record the commit at which the feature starts, for when its branch is made.

    An earlier feature of this name whose branch was deleted is not continued; its last merge is kept.
    """
    start = find_base(place, base)
    earlier = place.ref(naming.merged_ref(place.feature))
    if earlier is not None:
        place.put_ref(naming.kept_ref(place.feature, "earlier", earlier[:12]), earlier)
        place.drop_ref(naming.merged_ref(place.feature), earlier)
    place.put_ref(naming.base_ref(place.feature), start)
    return start


def prepare(place: FeaturePlace, task: str, branch: str, path: str, session: str, wave: str = "") -> Prepared:
    """Make a task's branch, and its worktree at `path`, whichever is missing. A wave's branches begin at one commit."""
    start = place.tip(place.branch)
    if start is None:
        raise GitFailed(f"{place.branch} is gone", f"make it again: git branch {place.branch} COMMIT")
    blocked = obstacle(place, path, branch, registered(place.git))
    if blocked is not None:
        raise blocked
    made = None
    tip = place.tip(branch)
    if tip is not None and _is_outdated(place, task, branch, path, session, start):
        place.drop_ref(f"refs/heads/{branch}", tip)
        tip = None
    if tip is None:
        start = _wave_base(place, wave, start) if wave else start
        made = _make_branch(place, task, branch, path, start, session)
    fresh = _add_tree(place, task, path, branch)
    restored = _restore(place, path, branch, session) if fresh and made is None else None
    return Prepared(path, made, fresh, restored, withheld.notice(place.git))


def _is_outdated(place: FeaturePlace, task: str, branch: str, path: str, session: str, start: str) -> bool:
    """Whether a branch without any work began at a commit that somebody has since taken out of the feature's branch.

    Work on it would bring that commit back. A worktree, or a snapshot of one, may have work that no commit has.
    """
    tip = place.tip(branch)
    began = place.ref(naming.base_ref(place.feature, task))
    if tip is None or began != tip or place.is_ancestor(tip, start):
        return False
    known = registered_at(path, registered(place.git))
    if os.path.isdir(path) or any(one.branch == branch for one in registered(place.git) if one != known):
        return False
    return newest_snapshot(place.root, branch, session, tip) is None


def _wave_base(place: FeaturePlace, wave: str, tip: str) -> str:
    """Where the branches of a wave begin: where the feature's branch was when the first of them was made.

    So the work of a task does not depend on which other task was faster. A base that is no longer in the feature's
    branch, because somebody rewrote it, does not count.
    """
    ref = naming.wave_ref(place.feature, wave)
    known = place.ref(ref)
    if known is not None and place.is_ancestor(known, tip):
        return known
    place.put_ref(ref, tip)
    return tip


def _make_branch(place: FeaturePlace, task: str, branch: str, path: str, start: str, session: str) -> str | None:
    """Make a task's branch: where it was before somebody deleted it, if that is known, else anew (returned).

    Its worktree knows, or a snapshot of its session.
    """
    here = registered_at(path, registered(place.git))
    was = strays.fallen_tip(place, path, here.branch, branch) if here is not None and os.path.isdir(path) else None
    was = was or snapshotted.fallen(place, {session: branch}).get(session)
    if was is not None:
        place.set_ref(f"refs/heads/{branch}", was, None)
        return None
    place.put_ref(naming.base_ref(place.feature, task), start)
    place.drop_ref(naming.left_ref(place.feature, task))
    place.set_ref(f"refs/heads/{branch}", start, None)
    return start


def _add_tree(place: FeaturePlace, task: str, path: str, branch: str) -> bool:
    """Check the branch out at the path; returns whether the worktree is new."""
    known = cleared_of_unfinished(place, path)
    here = registered_at(path, known)
    if here is not None and os.path.isdir(path):
        mend(place, path)
        if here.branch != branch:
            _switch(place, task, here, branch)
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    again = _forced(here or next((tree for tree in known if tree.branch == branch), None))
    add_worktree(place.git, path, *again, path, branch)
    return True


def cleared_of_unfinished(place: FeaturePlace, path: str) -> list[Registered]:
    """All worktrees, after one at this path that a killed git has only begun to make is taken away."""
    known = registered(place.git)
    half = registered_at(path, known)
    if half is None or not is_unfinished(half):
        return known
    if place.git.run("worktree", "remove", *_FORCE_UNFINISHED, half.path).returncode != 0:
        _remove_unlinked(half.path)
    return registered(place.git)


def _remove_unlinked(path: str) -> None:
    """Remove the folder of a worktree that git has begun and does not remove, because its `.git` is not written yet.

    Nothing else can be in there. Whatever else is, it stays, and is named as being in the way.
    """
    with contextlib.suppress(OSError):
        if os.listdir(path) == [".git"] and os.path.getsize(os.path.join(path, ".git")) == 0:
            os.unlink(os.path.join(path, ".git"))
        os.rmdir(path)


def _forced(known: Registered | None) -> tuple[str, ...]:
    """What makes git add a worktree where it has one registered."""
    if known is None:
        return ()
    return _FORCE_UNFINISHED if is_unfinished(known) else ("--force",)


def add_detached(place: FeaturePlace, path: str, commit: str, known: Registered | None) -> None:
    """Make a worktree of the feature's own at a commit. `known` is what git has registered there."""
    place.refuse_link(path)
    blocked = in_the_way(path)
    if blocked is not None:
        raise blocked
    os.makedirs(place.trees, exist_ok=True)
    add_worktree(place.git, path, *_forced(known), "--detach", path, commit)


def mend(place: FeaturePlace, path: str) -> None:
    """Give a worktree that has lost its `.git` a new one; anything else in its place is left to a person.

    So is a folder that has lost everything: to git it would be a worktree whose agent has removed every file.
    """
    if place.is_sound(path):
        return
    known = registered_at(path, registered(place.git))
    if known is not None and is_emptied(place, known):
        raise FeatureBlocked(f"somebody has removed the files of {path}", "move it away, then resume the feature")
    place.refuse_link(path)
    link_again(place.common, path)
    place.at(path)


def _switch(place: FeaturePlace, task: str, tree: Registered, branch: str) -> None:
    """Go back to the task's branch from whatever else was checked out. A HEAD that is on no branch is kept first."""
    git = place.at(tree.path)
    if is_dirty(git):
        has = tree.branch or "a detached HEAD"
        which, whose = f"rekindle resume {shlex.quote(place.feature)}", shlex.quote(task)
        own = f"take them: {which} --take {whose}; or leave them out: {which} --leave {whose}"
        by_hand = f"commit or stash them, then: git -C {shlex.quote(tree.path)} switch {branch}"
        raise FeatureBlocked(
            f"{tree.path} has {has} checked out instead of {branch}, and uncommitted changes",
            by_hand if place.shared_tree else own,
        )
    head = place.head(tree.path)
    if tree.branch is None and head is not None and not place.is_ancestor(head, f"refs/heads/{branch}"):
        strays.keep(place, task, [Stray(head, "", "", "detached")], tree.path)
    git.output("switch", "--quiet", branch)


def newest_snapshot(cwd: str, branch: str, session: str, tip: str | None) -> str | None:
    """The newest snapshot of a session on this branch, if it has more than the branch, which has not moved since."""
    with contextlib.suppress(RekindleError, OSError):
        kept = [one for one in taking.listing(cwd, session) if one.branch == branch]
        newest = max(kept, key=lambda one: one.number, default=None)
        if newest is None or newest.head != tip or tip is None:
            return None
        return newest.id if Git(cwd).line("rev-parse", f"{tip}^{{tree}}") != newest.tree else None
    return None


def _restore(place: FeaturePlace, path: str, branch: str, session: str) -> str | None:
    """Put back what only a snapshot has: the worktree is gone, and with it whatever was not committed."""
    newest = newest_snapshot(path, branch, session, place.head(path))
    if newest is None:
        return None
    with contextlib.suppress(RekindleError, OSError):
        restoring.restore(path, session, newest, None, time.time())
    return newest if is_dirty(place.at(path)) else None


def commit(place: FeaturePlace, tree: str, message: str, besides: frozenset[bytes] = frozenset()) -> tuple[str, ...]:
    """Commit everything that a worktree has `besides` these paths; returns what was left out otherwise, and why."""
    git = place.at(tree)
    held: dict[bytes, str] = {}
    added = None
    if not git.policy().filters and not besides:
        added = git.run(*DURABLE, "add", "--all")
    else:
        addable, held = written_tree.addable(git)
        paths = [path for path in addable if path not in besides]
        listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
        added = git.run(*DURABLE, "add", "--all", *listed, stdin=b"\0".join(paths)) if paths else None
    left_out = tuple(f"{os.fsdecode(path)} is not committed: {withheld.why(name)}" for path, name in held.items())
    if added is not None and added.returncode != 0:
        first = added.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitFailed(f"git add in {tree}: {first}", "mend that there, then resume the feature")
    if git.run("diff", "--cached", "--quiet").returncode == 0:
        return left_out
    done = place.commit(tree, "commit", "-m", message)
    if done.returncode != 0:
        raise GitFailed(f"git commit in {tree}: {reason(done.stderr)}", "see what `git status` says there")
    return left_out


def has_work(place: FeaturePlace, task: str, tree: str) -> bool:
    """Whether a worktree has uncommitted changes that its checks did not leave."""
    told = place.at(tree).output("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    paths = {entry[3:] for entry in told.split(b"\0") if entry}
    return not paths <= leftovers.of(place, task, tree)


def has_ignored(tree: Git) -> bool:
    """Whether a worktree has files that git ignores."""
    told = tree.output("status", "--porcelain", "-z", "--ignored=matching", "--untracked-files=normal")
    return any(entry.startswith(b"!! ") for entry in told.split(b"\0"))


def clear(place: FeaturePlace, task: str, branch: str, path: str, *, unchanged: bool = False) -> Cleared:
    """Remove the worktree and the branch of a merged task, by the tables. `path` is where its worktree is.

    If it is `unchanged`, files that git ignores are all that it may have made: they are not thrown away.
    """
    tip = place.tip(branch)
    target = place.tip(place.branch)
    merged = tip is not None and target is not None and place.is_ancestor(tip, target)
    tree = next((one for one in registered(place.git) if one.branch == branch), None)
    kept: list[str] = []
    removed = None
    if tree is not None and os.path.isdir(tree.path):
        ours = os.path.realpath(tree.path) == os.path.realpath(path)
        mend(place, tree.path)
        dirty = is_dirty(place.at(tree.path))
        if dirty and ours and not has_work(place, task, tree.path):
            left = leftovers.put_away(place, task, tree.path)
            dirty = is_dirty(place.at(tree.path))
            kept += [f"its checks left files in its worktree that are not part of the work; they are kept as {left}"]
        verdict = worktrees.reconcile(
            worktrees.WorktreeSides(tree.path, "merged", True, merged, dirty, tree.locked is not None)
        )
        if unchanged and ours and not is_shared(place, tree.path) and has_ignored(place.at(tree.path)):
            kept.append(f"{tree.path}: it has files that git ignores, and its task changed nothing else: it is kept")
        elif not ours:
            kept.append(f"{branch} is checked out in {tree.path}: it is kept")
        elif verdict.action == "delete":
            if is_shared(place, tree.path):
                place.at(tree.path).output("switch", "--quiet", "--detach")
                removed, tree = tree.path, None
            elif remove_clean(place, tree.path):
                removed, tree = tree.path, None
            else:
                kept.append(f"{tree.path}: it has a repository inside, which may have commits of its own: it is kept")
        else:
            kept.append(f"{tree.path}: {verdict.why}")
    elif tree is not None and tree.locked is None:
        place.git.run("worktree", "remove", "--force", tree.path)
        tree = None
    deleted = None
    if tip is not None:
        found = branches.reconcile(branches.BranchSides(branch, "merged", True, 1, merged, held=tree is not None))
        if found.action == "delete":
            place.drop_ref(f"refs/heads/{branch}", tip)
            place.forget_settings(branch)
            deleted = branch
        elif tree is None:
            kept.append(f"{branch}: {found.why}")
    if deleted is not None or tip is None:
        for name in (naming.base_ref, naming.left_ref):
            place.drop_ref(name(place.feature, task))
    _remove_empty(place.trees)
    return Cleared(removed, deleted, tuple(kept))


def is_shared(place: FeaturePlace, path: str) -> bool:
    """Whether a worktree is the one that all tasks use in turn, and so must never be removed for one task."""
    return place.shared_tree and os.path.basename(path) == naming.SHARED


def remove_clean(place: FeaturePlace, path: str) -> bool:
    """Remove a worktree without changes; False if a repository inside it may have commits that are nowhere else.

    Git itself refuses wherever a submodule is listed, also where nobody has filled it.
    """
    done = place.git.run("worktree", "remove", path, upon=path)
    if done.returncode == 0:
        return True
    git = place.at(path)
    folder = os.fsdecode(git.output("rev-parse", "--absolute-git-dir").removesuffix(b"\n"))
    listed = os.fsdecode(git.output("ls-files", "--stage", "-z")).split("\0")
    inner = [os.path.join(path, entry.partition("\t")[2]) for entry in listed if entry.startswith("160000 ")]
    if not inner:
        raise GitFailed(f"{path} cannot be removed: {reason(done.stderr)}", "see what `git status` says there")
    if os.path.isdir(os.path.join(folder, "modules")) or any(os.path.isdir(one) and os.listdir(one) for one in inner):
        return False
    place.git.output("worktree", "remove", "--force", path)
    return True


def _remove_empty(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(folder)
        os.rmdir(os.path.dirname(folder))
