"""What checks leave behind in a task's worktree, told apart from its agent's work.

Before checks start, everything that can be committed is committed. What is there when they end and is not in that
commit is theirs; a ref keeps it. A path that is still as they left it never counts as work.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection

from rekindle.adapters.feature_git.containing import changes
from rekindle.adapters.feature_git.keeping import saved
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.git import written_tree
from rekindle.adapters.snapshots.changes import differing
from rekindle.core.feature import naming


def begin(place: FeaturePlace, task: str, tree: str, tip: str) -> None:
    """Checks of this commit start, on it alone: what earlier ones left is removed. What they change is theirs."""
    put_away(place, task, tree)
    place.put_ref(naming.left_ref(place.feature, task), tip)


def put_back(place: FeaturePlace, task: str, tree: str) -> tuple[str, ...]:
    """Restore the commit's files that a check changed: the next check must judge the commit too.

    The check's versions are kept. New files in the worktree stay there.
    """
    left = _saved(place, task, tree)
    if left is None:
        return ()
    changed = [path for path, one in changes(place.git, f"{left}^", left).items() if one.is_of_old]
    if changed:
        _keep(place, task, left)
        _take_out(place, tree, changed)
    return _names(changed)


def end(place: FeaturePlace, task: str, tree: str) -> tuple[str, ...]:
    """Checks have ended: record the worktree as they left it. Returns the files that they left or changed."""
    left = _saved(place, task, tree)
    ref = naming.left_ref(place.feature, task)
    if left is None:
        place.drop_ref(ref)
        return ()
    place.put_ref(ref, left)
    return _names(differing(place.git, f"{left}^", left))


def of(place: FeaturePlace, task: str, tree: str) -> frozenset[bytes]:
    """The paths in a task's worktree that are just as its checks left them."""
    left = place.ref(naming.left_ref(place.feature, task))
    head = place.head(tree)
    return untouched(place, tree, left) if left is not None and left != head else frozenset()


def untouched(place: FeaturePlace, tree: str, left: str) -> frozenset[bytes]:
    """The paths of a worktree that checks changed and that are just as they left them.

    A ref that does not lead to a commit of ours came with the repository: no check left anything.
    """
    if place.git.line("rev-parse", "--quiet", "--verify", f"{left}^1^{{commit}}") is None:
        return frozenset()
    found = changes(place.git, f"{left}^", left)
    top = os.fsencode(tree)
    gone = {path for path, one in found.items() if not one.is_of_new and not os.path.lexists(os.path.join(top, path))}
    files = [path for path, one in found.items() if one.is_of_new and _is_file(os.path.join(top, path))]
    hashed = place.at(tree).output("hash-object", "--stdin-paths", stdin=b"".join(map(_quoted, files)))
    blobs = zip(files, hashed.decode().split(), strict=True)
    return frozenset(path for path, blob in blobs if found[path].new == blob) | gone


def put_away(place: FeaturePlace, task: str, tree: str) -> str | None:
    """Take what checks left out of a worktree that has no other work; returns the ref that keeps it.

    Only what the ref has is removed: a file that cannot be committed stays where it is.
    """
    left = _saved(place, task, tree)
    if left is None:
        return None
    ref = _keep(place, task, left)
    _take_out(place, tree, differing(place.git, f"{left}^", left))
    return ref


def _saved(place: FeaturePlace, task: str, tree: str) -> str | None:
    return saved(place, tree, f"What the checks of task {task} left in its worktree")


def _keep(place: FeaturePlace, task: str, commit: str) -> str:
    ref = naming.kept_ref(place.feature, "left", f"{naming.branch_word(task)}-{commit[:12]}")
    place.put_ref(ref, commit)
    return ref


def _take_out(place: FeaturePlace, tree: str, paths: Collection[bytes]) -> None:
    """Reset these paths of a worktree to its commit; paths that the commit lacks are removed."""
    git = place.at(tree).with_variables(GIT_LITERAL_PATHSPECS="1")
    top = os.fsencode(tree)
    git.output("reset", "--quiet", "--mixed")
    known = set(git.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD").split(b"\0"))
    for path in paths:
        place_of = os.path.join(top, path)
        if path not in known and not written_tree.is_gone(top, path) and not _is_folder(place_of):
            os.unlink(place_of)
            with contextlib.suppress(OSError):
                os.removedirs(os.path.dirname(place_of))
    if back := [path for path in paths if path in known]:
        words = ("--pathspec-from-file=-", "--pathspec-file-nul")
        git.output("checkout", "--quiet", "HEAD", *words, stdin=b"\0".join(back))


def _quoted(path: bytes) -> bytes:
    """A path as a line for git, which treats a leading quotation mark as quoting."""
    escaped = path.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"\n'


def _is_file(path: bytes) -> bool:
    return os.path.isfile(path) and not os.path.islink(path)


def _is_folder(path: bytes) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _names(paths: Collection[bytes]) -> tuple[str, ...]:
    return tuple(path.decode("utf-8", "replace") for path in sorted(paths))
