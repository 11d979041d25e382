"""The work-tree time machine: whole work trees as commits, each under a private ref of its own.

Index, HEAD, branches, configuration and hooks of the user are never touched, and no snapshot is ever changed. The
parent of each is what was checked out: git shows a snapshot as what was not committed, and keeps what it stands upon.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from rekindle.adapters.git import written_tree
from rekindle.adapters.git.git import Children, Git
from rekindle.adapters.git.new_objects import make_durable, named_since, thrown_away
from rekindle.core.names import why_not
from rekindle.ports.errors import BadName, GitFailed, NoRepository, NoSuchSnapshot
from rekindle.ports.snapshots import Snapshot

NAMESPACE = "refs/rekindle/"
#: Below a session's, a second ref to those that do not grow old.
_PINNED = "pinned/"
#: A single file above this is left out and named.
MOST_BYTES = 50 * 1000 * 1000
_TRIES = 50
_DIGITS = 8
_END = b"\0\0\n"
_FORMAT = "%(refname)%00%(objectname)%00%(committerdate:unix)%00%(tree)%00%(contents)%00%00"
_IDENTITY = ("rekindle", "rekindle@localhost.invalid")


def take(
    cwd: str,
    session: str,
    reason: str,
    now: float,
    *,
    limit: int = MOST_BYTES,
    restores: str | None = None,
    within: str | None = None,
    children: Children | None = None,
) -> Snapshot | None:
    """Keep the work tree that a folder is in. None if nothing has changed, or there is no repository.

    With `within`, the work tree that has to be there: the one around it is not kept in its place.

    Several may call this at once: the second builds on the first. Raises RekindleError; may take long.
    """
    namespace = namespace_of(session)
    place = written_tree.find(cwd, children, within)
    if place is None:
        return None
    git = place.git
    last = _newest(git, namespace)
    tree = written_tree.write(place, session, limit, last.tree if last is not None else None)
    wanted = Snapshot(
        id="",
        number=0,
        session=session,
        at=int(now),
        reason=" ".join(reason.split()) or "snapshot",
        tree=tree.id,
        head=place.head,
        branch=place.branch,
        left_out=tuple(_shown(one) for one in tree.left_out),
        restores=restores,
    )
    if last is not None and _is_same(last, wanted):
        return None
    with ThreadPoolExecutor(1) as beside:
        new = beside.submit(named_since, git, last.tree if last is not None else None, tree.id)
        made = commit(git, wanted)
    make_durable(place.objects, [*new.result(), made])
    for _ in range(_TRIES):
        number = last.number + 1 if last is not None else 1
        ref = f"{namespace}{number:0{_DIGITS}}"
        # It must be a new one: of several at once one wins, and the others look again.
        if git.run("update-ref", "--no-deref", ref, made, "0" * len(made)).returncode == 0:
            return replace(wanted, id=made, number=number)
        last = _newest(git, namespace)
        if last is not None and _is_same(last, wanted):
            return None
    raise GitFailed(f"{ref} in {git.folder} could not be made", f"is there a stale {ref}.lock in its git folder?")


def _is_same(last: Snapshot, wanted: Snapshot) -> bool:
    return (last.tree, last.head, last.branch) == (wanted.tree, wanted.head, wanted.branch)


def listing(cwd: str, session: str) -> list[Snapshot]:
    """All snapshots of a session, oldest first."""
    place = written_tree.find(cwd)
    namespace = namespace_of(session)
    return known(place.git, namespace) if place is not None else []


def described(git: Git, *patterns: str) -> list[tuple[str, Snapshot]]:
    """The commits of refs, read as snapshots: one that is none has no session."""
    told = git.output("for-each-ref", f"--format={_FORMAT}", *patterns)
    return [_parsed(one) for one in told.split(_END) if one]


def known(git: Git, namespace: str) -> list[Snapshot]:
    """The snapshots below a namespace, oldest first."""
    found = described(git, namespace)
    pins = {snapshot.id for ref, snapshot in found if ref.startswith(namespace + _PINNED)}
    return [
        replace(snapshot, pinned=snapshot.id in pins)
        for ref, snapshot in found
        if not ref.startswith(namespace + _PINNED)
    ]


def _newest(git: Git, namespace: str) -> Snapshot | None:
    told = git.output("for-each-ref", f"--format={_FORMAT}", "--sort=-refname", "--count=1", f"{namespace}[0-9]*")
    return _parsed(told.removesuffix(_END))[1] if told else None


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
    found = listing(cwd, session)
    older = choose(found, a).id
    with thrown_away(place.git, place.objects) as git:
        newer = (
            choose(found, b).id
            if b is not None
            else written_tree.write(replace(place, git=git), session, MOST_BYTES, found[-1].tree).id
        )
        return git.output("diff", "--no-color", "--no-ext-diff", "--no-textconv", older, newer, "--")


def pin(cwd: str, session: str, at: str | None, *, pinned: bool = True) -> Snapshot:
    """Keep a snapshot forever, or let it expire like the others."""
    git = required(cwd).git
    wanted = choose(listing(cwd, session), at)
    ref = f"{namespace_of(session)}{_PINNED}{wanted.number:0{_DIGITS}}"
    if pinned:
        git.output("update-ref", "--no-deref", ref, wanted.id)
    elif wanted.pinned:
        git.output("update-ref", "--no-deref", "-d", ref)
    return replace(wanted, pinned=pinned)


def required(cwd: str) -> written_tree.TreePlace:
    """The work tree around a folder. Raises NoRepository."""
    place = written_tree.find(cwd)
    if place is None:
        raise NoRepository(
            f"{cwd} is in no git work tree", "snapshots are kept in the repository that the agent works in"
        )
    return place


def namespace_of(session: str) -> str:
    """Where the private refs of a session are."""
    problem = why_not(session)
    if problem is not None or not session.isalnum() or not session.isascii():
        raise BadName(f"the session name {session!r} {problem or 'is none'}", "`rekindle ps --all` lists them")
    return f"{NAMESPACE}{session}/"


def set_aside(git: Git, session: str, refs: Mapping[str, str]) -> None:
    """Keep snapshots where no listing finds them: their numbers belong to others. They do not grow old."""
    place = f"{namespace_of(session)}{_PINNED}"
    told = [
        f"update {place}{ref.rpartition('/')[2]}-{one[:12]} {one}\ndelete {ref} {one}\n" for ref, one in refs.items()
    ]
    if told:
        git.output("update-ref", "--no-deref", "--stdin", stdin="".join(told).encode())


def ref_of(snapshot: Snapshot) -> str:
    """The private ref of a snapshot."""
    return f"{namespace_of(snapshot.session)}{snapshot.number:0{_DIGITS}}"


def commit(git: Git, wanted: Snapshot) -> str:
    """Write a snapshot's commit, and nothing that refers to it."""
    name, mail = _IDENTITY
    variables: dict[str, str] = {}
    for who in ("AUTHOR", "COMMITTER"):
        variables |= {f"GIT_{who}_NAME": name, f"GIT_{who}_EMAIL": mail, f"GIT_{who}_DATE": f"@{wanted.at} +0000"}
    parents = ("-p", wanted.head) if wanted.head else ()
    text = _message(wanted).encode("utf-8", "backslashreplace")
    return git.with_variables(**variables).output("commit-tree", *parents, wanted.tree, stdin=text).decode().strip()


def _message(wanted: Snapshot) -> str:
    told = [wanted.reason, "", f"Rekindle-Session: {wanted.session}", f"Rekindle-Head: {wanted.head or ''}"]
    told += [f"Rekindle-Branch: {wanted.branch or ''}"]
    told += [f"Rekindle-Restores: {wanted.restores}"] if wanted.restores else []
    return "\n".join((*told, *(f"Rekindle-Left-Out: {one}" for one in wanted.left_out))) + "\n"


def _parsed(told: bytes) -> tuple[str, Snapshot]:
    ref, commit, at, tree, message = told.decode("utf-8", "replace").split("\0")
    reason, *rest = message.split("\n")
    fields: dict[str, list[str]] = {}
    for line in rest:
        name, colon, value = line.partition(": ")
        if colon or line.endswith(":"):
            fields.setdefault(name.removesuffix(":"), []).append(value)

    def one(name: str) -> str | None:
        return next(iter(fields.get(name, [])), None) or None

    number = ref.rpartition("/")[2]
    return ref, Snapshot(
        id=commit,
        number=int(number) if number.isdecimal() else 0,
        session=one("Rekindle-Session") or "",
        at=int(at),
        reason=reason,
        tree=tree,
        head=one("Rekindle-Head"),
        branch=one("Rekindle-Branch"),
        left_out=tuple(fields.get("Rekindle-Left-Out", ())),
        restores=one("Rekindle-Restores"),
    )


def _shown(one: written_tree.LeftOut) -> str:
    """One line whatever is in the name."""
    return f"{json.dumps(one.path.decode('utf-8', 'backslashreplace'))} ({' '.join(one.why.split())})"


def relative_paths(git: Git, tree: str) -> set[bytes]:
    """All paths of a tree, folders not counted."""
    return set(git.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree).split(b"\0")) - {b""}
