"""What checks leave behind in a task's worktree, told apart from its agent's work.

When checks begin everything in the worktree is committed. What is there when they end and is not in that commit is
theirs; a ref keeps it. A path that is still as they left it is not work, whoever looks later.
"""

from __future__ import annotations

import os

from rekindle.adapters import work_tree
from rekindle.adapters.feature_git.place import Place
from rekindle.core.feature import naming
from rekindle.ports.errors import GitFailed

#: Snapshots of what checks left are for comparing, so nothing is too large for them.
_NO_LIMIT = 1 << 62


def begin(place: Place, task: str, tree: str, tip: str) -> None:
    """Checks of this commit begin, on it alone: what earlier ones left is put away. What they change is theirs."""
    put_away(place, task, tree)
    place.put_ref(naming.left_ref(place.feature, task), tip)


def put_back(place: Place, task: str, tree: str) -> tuple[str, ...]:
    """Put back the files of the commit that a check has changed: the next one is to judge the commit, too.

    What the check made of them is kept. What is new in the worktree stays there.
    """
    git = place.at(tree)
    changed = [path for path in git.output("diff", "--name-only", "-z", "HEAD").split(b"\0") if path]
    if not changed:
        return ()
    left = saved(place, tree, f"What a check of task {task} made of its worktree")
    if left is not None:
        place.put_ref(_kept(place, task, left), left)
    git.output("reset", "--quiet", "--hard", "--no-recurse-submodules")
    return tuple(path.decode("utf-8", "replace") for path in changed)


def _kept(place: Place, task: str, commit: str) -> str:
    return naming.kept_ref(place.feature, "left", f"{naming.branch_word(task)}-{commit[:12]}")


def end(place: Place, task: str, tree: str) -> tuple[str, ...]:
    """Checks have ended: remember the worktree as they left it. Returns the files that they left or changed."""
    head = place.at(tree).line("rev-parse", "HEAD")
    if head is None:
        raise GitFailed(f"{tree} has no commit", "see what `git status` says there")
    left = saved(place, tree, f"What the checks of task {task} left in its worktree")
    ref = naming.left_ref(place.feature, task)
    if left is None:
        place.drop_ref(ref)
        return ()
    place.put_ref(ref, left)
    return tuple(path.decode("utf-8", "replace") for path in _differing(place, head, left))


def of(place: Place, task: str, tree: str) -> frozenset[bytes]:
    """The paths in a task's worktree that are just as its checks left them."""
    left = place.git.line("rev-parse", "--quiet", "--verify", naming.left_ref(place.feature, task))
    head = place.at(tree).line("rev-parse", "HEAD")
    return untouched(place, tree, left) if left is not None and left != head else frozenset()


def put_away(place: Place, task: str, tree: str) -> str | None:
    """Take what checks left out of a worktree that has nothing else to lose; returns the ref that keeps it."""
    left = saved(place, tree, f"What the checks of task {task} left in its worktree")
    if left is None:
        return None
    ref = _kept(place, task, left)
    place.put_ref(ref, left)
    git = place.at(tree)
    git.output("reset", "--quiet", "--hard", "--no-recurse-submodules")
    git.output("clean", "--quiet", "-d", "--force")
    return ref


def untouched(place: Place, tree: str, left: str) -> frozenset[bytes]:
    """The paths of a worktree that differ from its commit and are just as checks left them."""
    git = place.at(tree)
    paths = _differing(place, f"{left}^", left)
    listed = git.output("ls-tree", "-r", "-z", "--full-tree", left).split(b"\0")[:-1]
    blobs = {path: about.split(b" ")[2] for about, _, path in (entry.partition(b"\t") for entry in listed)}
    top = os.fsencode(tree)
    gone = {path for path in paths if path not in blobs and not os.path.lexists(os.path.join(top, path))}
    files = [path for path in paths if path in blobs and _is_file(os.path.join(top, path)) and b"\n" not in path]
    hashed = git.output("hash-object", "--stdin-paths", stdin=b"".join(path + b"\n" for path in files)).split()
    return frozenset(path for path, blob in zip(files, hashed, strict=True) if blobs[path] == blob) | gone


def _is_file(path: bytes) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def saved(place: Place, tree: str, message: str) -> str | None:
    """A commit of a worktree as it is, on top of its HEAD; None if nothing is in it that HEAD has not. Moves no ref."""
    git = place.at(tree)
    now = _written(tree)
    if now == git.line("rev-parse", "HEAD^{tree}"):
        return None
    head = git.line("rev-parse", "HEAD")
    return place.commit_tree(now, [head] if head is not None else [], message)


def _written(tree: str) -> str:
    found = work_tree.find(tree)
    if found is None:
        raise GitFailed(f"{tree} is no worktree any more", "move it away, then resume the feature")
    return work_tree.write(found, "leftovers", _NO_LIMIT, None).id


def _differing(place: Place, one: str, other: str) -> list[bytes]:
    told = place.git.output("diff-tree", "-r", "-z", "--name-only", "--no-renames", one, other)
    return [path for path in told.split(b"\0") if path]
