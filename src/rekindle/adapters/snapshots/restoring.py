"""Puts a snapshot back: into a new folder, or over the work tree.

What is in no snapshot is never overwritten or deleted.
"""

from __future__ import annotations

import os
import stat

from rekindle.adapters.git import withheld, written_tree
from rekindle.adapters.git.git import Git
from rekindle.adapters.snapshots.taking import (
    MOST_BYTES,
    choose,
    listing,
    pin,
    relative_paths,
    required,
    take,
)
from rekindle.ports.errors import InTheWay, UsageError
from rekindle.ports.snapshots import Restored, Snapshot


def restore(cwd: str, session: str, at: str | None, to: str | None, now: float, *, limit: int = MOST_BYTES) -> Restored:
    """Put a snapshot into the new or empty folder `to`, or, without it, over the work tree that `cwd` is in."""
    git = required(cwd).git
    wanted = choose(listing(cwd, session), at)
    if to is not None:
        return Restored(wanted, _into_folder(git, wanted, to), notice=withheld.notice(git))
    pin(cwd, session, wanted.id)
    take(cwd, session, f"before a restore of {wanted.id[:10]}", now, limit=limit, restores=wanted.id)
    before = choose(listing(cwd, session), None)
    _refuse_to_lose(git, before, wanted)
    with written_tree.scratch_index() as index:
        ours = git.with_index(index)
        ours.output("read-tree", before.id)
        ours.run("update-index", "-q", "--refresh")
        # git itself refuses, before it touches anything, if a file has changed since the snapshot of a moment ago.
        ours.output("read-tree", "-m", "-u", before.id, wanted.id)
    take(cwd, session, f"{wanted.id[:10]} was put back", now, limit=limit, restores=wanted.id)
    return Restored(wanted, git.folder, before.id, withheld.notice(git))


def _into_folder(git: Git, wanted: Snapshot, to: str) -> str:
    folder = os.path.realpath(to)
    try:
        os.makedirs(folder, exist_ok=True)
        taken = bool(os.listdir(folder))
    except (FileExistsError, NotADirectoryError):
        taken = True
    if taken:
        raise UsageError(f"{folder} is there already and not empty", "give the path of a new folder with --to")
    with written_tree.scratch_index() as index:
        ours = git.with_index(index)
        ours.output("read-tree", wanted.id)
        ours.output("checkout-index", "--all", f"--prefix={folder}/")
    return folder


def _refuse_to_lose(git: Git, before: Snapshot, wanted: Snapshot) -> None:
    """git takes ignored files for worthless and would write over them; and files may be too large for a snapshot."""
    kept = relative_paths(git, before.id)
    changed = git.output(
        "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d", before.id, wanted.id
    )
    paths = set(changed.split(b"\0")) - {b""}
    folders = {path[:end] for path in paths for end in range(len(path)) if path[end : end + 1] == b"/"}
    lost: set[bytes] = set()
    for path in paths | folders:
        lost |= _unkept(git, path, kept, is_leaf=path in paths)
    if lost:
        names = ", ".join(os.fsdecode(path).encode("utf-8", "backslashreplace").decode() for path in sorted(lost)[:5])
        raise InTheWay(
            f"files that no snapshot has would be overwritten ({len(lost)}): {names}",
            "move them away, or restore to a new folder with --to PATH; nothing was changed",
        )


def _unkept(git: Git, path: bytes, kept: set[bytes], *, is_leaf: bool) -> set[bytes]:
    top = os.fsencode(git.folder)
    if written_tree.is_gone(top, path):
        return set()
    place = os.path.join(top, path)
    if not stat.S_ISDIR(os.lstat(place).st_mode):
        return set() if path in kept else {path}
    if not is_leaf or path in kept:  # a folder stays a folder, or a repository inside of this one stays itself
        return set()
    found: set[bytes] = set()
    for folder, folders, names in os.walk(place):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        found |= {os.path.relpath(os.path.join(folder, name), top) for name in (*names, *links)}
    return found - kept
