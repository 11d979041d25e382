"""The work-tree time machine: whole work trees as commits on a private ref per session.

Index, HEAD, branches, configuration and hooks of the user are never touched, and no snapshot is ever changed.
"""

from __future__ import annotations

import json

import msgspec

from rekindle.adapters import work_tree
from rekindle.adapters.git import Git, GitFailed
from rekindle.core.names import why_not
from rekindle.ports.errors import BadName, NoRepository, UsageError

NAMESPACE = "refs/rekindle/"
#: A single file above this is left out and named.
MOST_BYTES = 50 * 1000 * 1000
_TRIES = 50
_IDENTITY = ("rekindle", "rekindle@localhost.invalid")


class NoSuchSnapshot(UsageError):
    """No snapshot is meant by that, or more than one."""

    code = "no_such_snapshot"


class Snapshot(msgspec.Struct, frozen=True):
    """One state of a work tree. `id` is a commit; `left_out` names files that it lacks."""

    id: str
    session: str
    at: int
    reason: str
    tree: str
    head: str | None = None
    branch: str | None = None
    left_out: tuple[str, ...] = ()


def take(cwd: str, session: str, reason: str, now: float, *, limit: int = MOST_BYTES) -> Snapshot | None:
    """Keep the work tree that a folder is in. None if nothing has changed, or there is no repository.

    May be called by several at once: whoever comes second builds upon the first. Raises RekindleError; may take long.
    """
    ref = ref_of(session)
    place = work_tree.find(cwd)
    if place is None:
        return None
    git, head, branch = place.git, place.head, place.branch
    tree = work_tree.write(place, limit)
    left_out = tuple(_shown(one) for one in tree.left_out)
    message = _message(session, reason, head, branch, left_out)
    for _ in range(_TRIES):
        last, _, last_tree = (git.line("for-each-ref", "--format=%(objectname) %(tree)", ref) or "").partition(" ")
        if last_tree == tree.id:
            return None
        commit = _commit(git, tree.id, last, message, now)
        # The old value is checked: of several at once one wins, and the others look again.
        if git.run("update-ref", "--no-deref", "-m", reason, ref, commit, last).returncode == 0:
            return Snapshot(commit, session, int(now), reason, tree.id, head, branch, left_out)
    raise GitFailed(f"{ref} in {git.folder} could not be moved", f"is there a stale {ref}.lock in its git folder?")


def listing(cwd: str, session: str) -> list[Snapshot]:
    """All snapshots of a session, oldest first."""
    place = work_tree.find(cwd)
    ref = ref_of(session)
    if place is None or place.git.line("rev-parse", "--quiet", "--verify", ref) is None:
        return []
    told = place.git.output("log", "-z", "--first-parent", "--encoding=UTF-8", "--format=%H%n%ct%n%T%n%B", ref, "--")
    return [_parsed(one.decode("utf-8", "replace")) for one in told.split(b"\0") if one][::-1]


def choose(snapshots: list[Snapshot], at: str | None) -> Snapshot:
    """The snapshot that is meant by the beginning of an id, by ~N (N before the last), or by nothing: the last."""
    if not snapshots:
        raise NoSuchSnapshot(
            "the session has no snapshots here", "they are taken at the end of a turn, in a repository"
        )
    if at is None:
        return snapshots[-1]
    if at.startswith("~") and at[1:].isdecimal() and at.isascii():
        found = snapshots[-1 - int(at[1:]) :][:1] if int(at[1:]) < len(snapshots) else []
    else:
        found = [one for one in snapshots if at and one.id.startswith(at.lower())]
    if len(found) != 1:
        raise NoSuchSnapshot(f"{at!r} means {len(found)} snapshots", "`rekindle snapshots ID` lists them")
    return found[0]


def difference(cwd: str, session: str, a: str | None = None, b: str | None = None) -> bytes:
    """What changed from one snapshot to another; without `b`, to the work tree as it is now. As `git diff` tells it."""
    place = required(cwd)
    known = listing(cwd, session)
    older = choose(known, a).id
    newer = choose(known, b).id if b is not None else work_tree.write(place, MOST_BYTES).id
    return place.git.output("diff", "--no-color", "--no-ext-diff", "--no-textconv", older, newer, "--")


def required(cwd: str) -> work_tree.Place:
    """The work tree around a folder. Raises NoRepository."""
    place = work_tree.find(cwd)
    if place is None:
        raise NoRepository(
            f"{cwd} is in no git work tree", "snapshots are kept in the repository that the agent works in"
        )
    return place


def ref_of(session: str) -> str:
    """The private ref of a session."""
    problem = why_not(session)
    if problem is not None or not session.isalnum() or not session.isascii():
        raise BadName(f"the session name {session!r} {problem or 'is none'}", "`rekindle ps --all` lists them")
    return NAMESPACE + session


def _commit(git: Git, tree: str, parent: str, message: str, now: float) -> str:
    name, mail = _IDENTITY
    env = {
        f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in (("NAME", name), ("EMAIL", mail))
    }
    env |= {f"GIT_{who}_DATE": f"@{int(now)} +0000" for who in ("AUTHOR", "COMMITTER")}
    parents = ("-p", parent) if parent else ()
    text = message.encode("utf-8", "backslashreplace")
    return git.output("commit-tree", *parents, tree, stdin=text, env=env).decode().strip()


def _message(session: str, reason: str, head: str | None, branch: str | None, left_out: tuple[str, ...]) -> str:
    subject = " ".join(reason.split()) or "snapshot"
    told = [subject, "", f"Rekindle-Session: {session}", f"Rekindle-Head: {head or ''}"]
    told += [f"Rekindle-Branch: {branch or ''}", *(f"Rekindle-Left-Out: {one}" for one in left_out)]
    return "\n".join(told) + "\n"


def _parsed(text: str) -> Snapshot:
    commit, at, tree, reason, *rest = text.split("\n")
    fields: dict[str, list[str]] = {}
    for line in rest:
        name, colon, value = line.partition(": ")
        if colon or line.endswith(":"):
            fields.setdefault(name.removesuffix(":"), []).append(value)

    def one(name: str) -> str | None:
        return next(iter(fields.get(name, [])), None) or None

    return Snapshot(
        commit,
        one("Rekindle-Session") or "",
        int(at),
        reason,
        tree,
        one("Rekindle-Head"),
        one("Rekindle-Branch"),
        tuple(fields.get("Rekindle-Left-Out", ())),
    )


def _shown(one: work_tree.LeftOut) -> str:
    """One line whatever is in the name."""
    return f"{json.dumps(one.path.decode('utf-8', 'backslashreplace'))} ({' '.join(one.why.split())})"


def relative_paths(git: Git, tree: str) -> set[bytes]:
    """All paths of a tree, folders not counted."""
    return set(git.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree).split(b"\0")) - {b""}
