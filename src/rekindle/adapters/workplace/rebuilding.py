"""Builds a session's folder again when it is gone: the worktree from its branch, the files from the last snapshot.

Only an empty place is written to; whatever stands there is left alone, and the session waits for a person. Until all
files are there, git's own mark says that the worktree is not finished: if we are killed, the next start goes on.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from rekindle import files
from rekindle.adapters.git import repository, withheld, worktree_turns, written_tree
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.linked_worktrees import UNFINISHED, link_again, make_branch, registered
from rekindle.adapters.git.worktree_files import Registered
from rekindle.adapters.snapshots.taking import known, namespace_of
from rekindle.core.session_worktree import combine, listed
from rekindle.ports.errors import GitFailed, WorktreeLost
from rekindle.ports.snapshots import Snapshot

_MARK: Final = UNFINISHED.encode()


class Wanted(msgspec.Struct, frozen=True):
    """The session's folder, and what is known about the worktree that it was in."""

    session: str
    cwd: str
    worktree: str | None = None
    branch: str | None = None
    repository: str | None = None


def is_missing(wanted: Wanted) -> bool:
    """Whether the session's folder, or its worktree as git sees it, is not there."""
    if not os.path.isdir(wanted.cwd):
        return True
    return wanted.worktree is not None and (not _is_linked(wanted.worktree) or _is_half_built(wanted.worktree))


def rebuild(wanted: Wanted) -> list[str]:
    """Bring the folder back, and say how. Raises WorktreeLost, whose message says what a person can do."""
    try:
        git = _git(wanted)
        with worktree_turns.steps(_common(git)):
            return _rebuild(wanted, git)
    except (GitFailed, OSError) as error:
        why = error.message if isinstance(error, GitFailed) else str(error)
        raise _lost(wanted, f"it could not be built again ({why})") from error


def _rebuild(wanted: Wanted, git: Git) -> list[str]:
    entry = _entry(wanted, git)
    top = wanted.worktree or (entry.path if entry is not None else None)
    if top is None:
        raise _lost(wanted, "it was no worktree")
    snapshots = known(git, namespace_of(wanted.session))
    snapshot = snapshots[-1] if snapshots else None
    if _is_linked(top) and _is_half_built(top):
        told = _finish(git, top, snapshot)
        os.makedirs(wanted.cwd, exist_ok=True)
        return [f"{top} was half built when its builder was killed, and has been built to its end", *told]
    if _is_linked(top):
        return _bring_back_folder(wanted, top, git.at(top), snapshot)
    if os.path.lexists(top) and (not os.path.isdir(top) or os.listdir(top)):
        return _link_again(wanted, git, top, entry)
    if entry is not None and entry.locked not in (None, UNFINISHED):
        reason = f" ({entry.locked})" if entry.locked else ""
        raise _lost(
            wanted,
            f"the worktree is locked{reason}, so that it may be on a disk that is not there; "
            f"bring the disk back, or run `git worktree unlock` for {top}",
        )
    how = _register(wanted, git, top, entry, snapshot)
    told = _finish(git, top, snapshot)
    os.makedirs(wanted.cwd, exist_ok=True)
    source = f"{how} and snapshot {snapshot.id[:10]} ({snapshot.reason})" if snapshot is not None else how
    return [f"{top} was gone and has been built again from {source}", *told]


def _git(wanted: Wanted) -> Git:
    """git in what is left of the repository."""
    folder = os.path.abspath(wanted.cwd)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    clone = _clone(wanted)
    if clone is not None:
        return Git(clone)
    for start in (wanted.repository, folder):
        if start is not None and os.path.isdir(start) and (found := repository.find(start)) is not None:
            return Git(found.root)
    raise _lost(wanted, "there is no repository that it could be built from")


def _clone(wanted: Wanted) -> str | None:
    """The clone of our own that has the session's worktree, where its feature has no worktrees."""
    found = repository.find(wanted.repository) if wanted.repository and os.path.isdir(wanted.repository) else None
    for clone in repository.own_clones(found.common) if found is not None else []:
        if any(os.path.realpath(one.path) == os.path.realpath(wanted.worktree or "") for one in registered(Git(clone))):
            return clone
    return None


def _common(git: Git) -> str:
    return os.fsdecode(git.output("rev-parse", "--path-format=absolute", "--git-common-dir").removesuffix(b"\n"))


def _entry(wanted: Wanted, git: Git) -> Registered | None:
    """The worktree that the folder is in, as far as git knows one. Never the main one."""
    inside = os.path.realpath(wanted.worktree or wanted.cwd)
    for one in registered(git)[1:]:
        path = os.path.realpath(one.path)
        if inside == path or (wanted.worktree is None and inside.startswith(path + os.sep)):
            return one
    return None


def _is_linked(top: str) -> bool:
    found = repository.find(top) if os.path.isdir(top) else None
    return found is not None and found.top == os.path.realpath(top)


def _bring_back_folder(wanted: Wanted, top: str, git: Git, snapshot: Snapshot | None) -> list[str]:
    """The worktree is there, the session's folder in it is not: nobody else's files are touched."""
    if wanted.worktree is None:
        raise _lost(wanted, "its worktree is there, but the folder in it is not")
    below = os.path.relpath(wanted.cwd, top)
    if snapshot is not None:
        with written_tree.scratch_index() as index:
            ours = git.with_index(index)
            entries = ours.output("ls-tree", "-r", "-z", "--full-tree", snapshot.id, "--", f"{below}/")
            ours.output("update-index", "-z", "--index-info", stdin=entries)
            ours.output("checkout-index", "--all", "--quiet")
    os.makedirs(wanted.cwd, exist_ok=True)
    source = f" from snapshot {snapshot.id[:10]}" if snapshot is not None else ""
    return [f"{wanted.cwd} was gone and has been made again{source}"]


def _link_again(wanted: Wanted, git: Git, top: str, entry: Registered | None) -> list[str]:
    """Files are there, but not what makes a worktree of them."""
    if entry is not None:
        link_again(_common(git), top)
    if entry is None or not _is_linked(top):
        raise _lost(
            wanted,
            f"{top} is there, but git does not know it as a worktree; move it away, and the worktree is built again",
        )
    os.makedirs(wanted.cwd, exist_ok=True)
    return [f"{top} had lost its link to the repository and has it again; its files were left as they are"]


def _register(wanted: Wanted, git: Git, top: str, entry: Registered | None, snapshot: Snapshot | None) -> str:
    """An empty worktree in its place; says what it stands on."""
    if entry is not None:
        os.makedirs(top, exist_ok=True)
        link_again(_common(git), top)
        if _is_linked(top):
            if entry.locked is None:
                git.output("worktree", "lock", "--reason", UNFINISHED, top)
            return entry.branch or f"commit {(entry.head or '')[:10]}"
        raise _lost(wanted, "git could not link it again; run `git worktree prune`, and it is built from its branch")
    branch = _free_branch(wanted, git, snapshot)
    commit = snapshot.head if snapshot is not None else None
    if branch is not None and git.line("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}") is not None:
        words: tuple[str, ...] = (top, branch)
        how = f"the branch {branch}"
    elif commit is None:
        raise _lost(wanted, f"neither its branch {branch} nor a snapshot of it is there")
    elif branch is not None:
        make_branch(git, branch, commit)
        words = (top, branch)
        how = f"the branch {branch}, which was gone and was made again at {commit[:10]},"
    else:
        words = ("--detach", top, commit)
        how = f"commit {commit[:10]}"
    git.output("worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", UNFINISHED, *words)
    return how


def _free_branch(wanted: Wanted, git: Git, snapshot: Snapshot | None) -> str | None:
    """The branch that the agent had checked out, if no other worktree has it; else the session's own.

    A session that worked in a checkout of another host comes to a clone whose main worktree may have that branch.
    """
    if snapshot is None:
        return wanted.branch
    is_taken = snapshot.branch is not None and any(one.branch == snapshot.branch for one in registered(git))
    return wanted.branch if is_taken and wanted.branch is not None else snapshot.branch


def _is_half_built(top: str) -> bool:
    """Whether somebody who was laying out this worktree was killed: nobody has worked in it since."""
    found = repository.find(top)
    try:
        return found is not None and files.read_short(os.path.join(found.git_dir, "locked"), 100).strip() == _MARK
    except OSError:
        return False


def _finish(git: Git, top: str, snapshot: Snapshot | None) -> list[str]:
    """Write all files of a worktree that is marked as unfinished, and take the mark away."""
    found = repository.find(top)
    if found is None or not os.path.exists(os.path.join(found.git_dir, "index")):
        git.at(top).output("read-tree", "HEAD")
    told = _lay_out(git.at(top), snapshot)
    git.output("worktree", "unlock", top)
    return told


def _lay_out(git: Git, snapshot: Snapshot | None) -> list[str]:
    """Write the files of a worktree that nobody has worked in, over those of an earlier try; says what conflicts."""
    told: list[str] = []
    with written_tree.scratch_index() as index:
        ours = git.with_index(index)
        head = git.line("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if snapshot is None:
            ours.output("read-tree", "HEAD")
        elif snapshot.head is None or head is None or snapshot.head == head:
            ours.output("read-tree", snapshot.id)
        else:
            combined = combine(_tree(git, snapshot.head), _tree(git, head), _tree(git, snapshot.id))
            entries = b"".join(what.encode() + b"\t" + path + b"\0" for path, what in combined.tree.items())
            ours.output("update-index", "-z", "--index-info", stdin=entries)
            if combined.conflicts:
                told.append(
                    f"what is checked out was moved from {snapshot.head[:10]} to {head[:10]} meanwhile and stays; "
                    f"the snapshot has other contents of: {', '.join(listed(combined.conflicts, 10))}. "
                    f"See them with `rekindle restore {snapshot.session} --at {snapshot.id[:10]} --to FOLDER`"
                )
        ours.output("checkout-index", "--all", "--force", "--quiet")
    git.run("update-index", "-q", "--refresh")
    left_out = snapshot.left_out if snapshot is not None else ()
    notice = withheld.notice(git)
    told += [notice] if notice is not None else []
    return [*told, *(f"not in the snapshot: {one}" for one in left_out)]


def _tree(git: Git, commit: str) -> dict[bytes, str]:
    """Paths with mode, kind and object, as git lists them."""
    found = {}
    for line in git.output("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        what, tab, path = line.partition(b"\t")
        if tab:
            found[path] = what.decode()
    return found


def _lost(wanted: Wanted, why: str) -> WorktreeLost:
    return WorktreeLost(
        f"the folder {wanted.cwd} is gone: {why}; its files can be put into a new one with "
        f"`rekindle restore {wanted.session} --to FOLDER`; once {wanted.cwd} is there again, "
        f"`rekindle resume {wanted.session}` goes on"
    )
