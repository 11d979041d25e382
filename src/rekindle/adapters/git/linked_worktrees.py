"""Makes a git worktree for a session, on a branch of its own. The user's checkout, index and branch are not touched."""

from __future__ import annotations

import os

from rekindle import files
from rekindle.adapters.git import pointers, repository, withheld, worktree_files, worktree_turns
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.ref_files import Unsure
from rekindle.adapters.git.worktree_files import Registered
from rekindle.core.names import why_not
from rekindle.core.session_worktree import branch_of, folder_of
from rekindle.ports.errors import BadName, GitFailed, NoRepository, NoWorktree
from rekindle.ports.worktrees import SessionWorktree

FOLDER = ".worktrees"
#: The lock reason of a worktree that git has not finished making.
UNFINISHED = "initializing"


def registered(git: Git) -> list[Registered]:
    """All worktrees of a repository, the main one first."""
    try:
        return worktree_files.listed(git.folder)
    except Unsure:
        return registered_by_git(git)


def registered_by_git(git: Git) -> list[Registered]:
    """The same, as git lists them."""
    found = []
    for block in os.fsdecode(git.output("worktree", "list", "--porcelain", "-z")).split("\0\0"):
        fields = dict(line.partition(" ")[::2] for line in block.split("\0") if line)
        if "worktree" in fields:
            branch = fields.get("branch", "").removeprefix("refs/heads/") or None
            is_bare = "bare" in fields
            found.append(Registered(fields["worktree"], fields.get("HEAD"), branch, fields.get("locked"), bare=is_bare))
    return found


def add_worktree(git: Git, path: str, *words: str) -> None:
    """Make a worktree with its files. `words` are git's arguments, including the path. Raises GitFailed.

    git would lay out the files under the configuration as it is read here. It may be another one there (`includeIf`),
    so that this is done from there. Until then git's own mark says that the worktree is not finished.
    """
    git.output("worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", UNFINISHED, *words)
    _lay_out(git, path)


def make_branch(git: Git, branch: str, commit: str) -> None:
    """Make a branch that does not exist yet. `worktree add -b` would too, but can only be repeated without it."""
    git.output("update-ref", "-m", f"branch: Created from {commit}", f"refs/heads/{branch}", commit, "")


def _lay_out(git: Git, path: str) -> None:
    git.at(path).output("reset", "--quiet", "--hard", "--no-recurse-submodules")
    git.output("worktree", "unlock", path)


def link_again(common: str, path: str) -> None:
    """Have a worktree that has lost its `.git`, or has a broken one, point to its repository again, if that knows it.

    git's own repair would do the same to every worktree that is registered, wherever that leads.
    """
    dot_git = os.path.join(path, ".git")
    folder = os.path.join(os.path.realpath(common), "worktrees")
    if os.path.islink(dot_git) or os.path.isdir(dot_git) or not os.path.isdir(folder):
        return
    for name in sorted(os.listdir(folder)):
        entry = os.path.join(folder, name)
        told = pointers.worktree_file(entry)
        if told is not None and os.path.realpath(told) == os.path.realpath(dot_git):
            files.replace(dot_git, b"gitdir: " + os.fsencode(entry) + b"\n")
            return


def make(cwd: str, name: str, folder: str | None = None) -> SessionWorktree:
    """Make a worktree for a session that was started in `cwd`, or use the one of that name. Raises UsageError."""
    repo = repository.find(cwd)
    if repo is None:
        raise NoRepository(
            f"{cwd} is in no git repository, so there can be no worktree", "run `git init`, or leave --worktree away"
        )
    git = Git(cwd)
    head = git.line("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
    if head is None:
        raise NoWorktree(
            f"{repo.root} has no commit that a worktree could begin with", "make a first commit, then try again"
        )
    branch = _branch(git, name)
    place = repo.folder(folder or FOLDER, "worktrees_dir")
    path = os.path.join(place, folder_of(name))
    with worktree_turns.steps(repo.common):
        is_there = _look(git, path, branch)
        if not is_there:
            repo.exclude(place)
            if git.line("rev-parse", "--quiet", "--verify", f"refs/heads/{branch}") is None:
                make_branch(git, branch, head)
            add_worktree(git, path, path, branch)
    inner = os.path.join(path, os.path.relpath(os.path.realpath(cwd), repo.top)) if repo.top is not None else path
    inner = os.path.normpath(inner)
    os.makedirs(inner, exist_ok=True)
    return SessionWorktree(inner, path, repo.root, branch, () if is_there else _notices(git, repo))


def around(cwd: str) -> SessionWorktree:
    """Where a session without its own worktree works."""
    found = repository.find(cwd)
    if found is None:
        return SessionWorktree(cwd)
    told = withheld.notice(Git(cwd))
    return SessionWorktree(cwd, found.top, found.root, notices=(told,) if told is not None else ())


def _branch(git: Git, name: str) -> str:
    branch = branch_of(name)
    problem = why_not(folder_of(name))
    if problem is None and git.line("check-ref-format", f"refs/heads/{branch}") is None:
        problem = "cannot be the name of a branch"
    if problem is not None:
        raise BadName(f"the worktree name {name!r} {problem}", "use letters, digits and dashes")
    return branch


def _look(git: Git, path: str, branch: str) -> bool:
    """Whether the worktree already exists, with its branch. Raises NoWorktree if it cannot be made."""
    known = registered(git)
    here = next((one for one in known if os.path.realpath(one.path) == os.path.realpath(path)), None)
    other = next((one for one in known if one.branch == branch and one is not here), None)
    if other is not None:
        gone = "" if os.path.isdir(other.path) else " (which is gone: `git worktree prune` forgets it)"
        raise NoWorktree(
            f"the branch {branch} is checked out in {other.path}{gone}", "choose another name with --worktree=NAME"
        )
    if here is not None and not os.path.isdir(path):
        raise NoWorktree(
            f"git knows a worktree at {path}, whose folder is gone",
            "resume its session, which builds it again; or forget it with `git worktree prune`",
        )
    if here is not None and here.branch != branch:
        raise NoWorktree(
            f"the worktree {path} is on {here.branch or 'no branch'}, not on {branch}",
            "choose another name with --worktree=NAME",
        )
    if here is None and os.path.lexists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise NoWorktree(
            f"{path} is there and is no worktree of this repository", "choose another name, or move it away"
        )
    if here is not None and here.locked == UNFINISHED:  # its maker was killed: nobody has worked in it
        _lay_out(git, path)
    return here is not None


def _notices(git: Git, repo: repository.Repository) -> tuple[str, ...]:
    try:
        dirty = repo.top is not None and git.output("status", "--porcelain", "-z") != b""
        told = withheld.notice(git)
    except GitFailed:
        return ()
    found = (f"changes in {repo.top} that are not committed are not in the worktree",) if dirty else ()
    return (*found, told) if told is not None else found
