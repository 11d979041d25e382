"""How a work tree has changed since its agent last saw it, compared with the snapshot taken then."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from rekindle.adapters.git import written_tree
from rekindle.adapters.git.git import Git
from rekindle.adapters.git.new_objects import thrown_away
from rekindle.adapters.snapshots.taking import MOST_BYTES, known, namespace_of
from rekindle.core.session_worktree import listed, lost
from rekindle.ports.snapshots import Snapshot


class Changes(msgspec.Struct, frozen=True):
    """Paths that are not as they were, and those of them whose uncommitted work went away with what was checked out."""

    since: Snapshot
    head: str | None
    branch: str | None
    paths: frozenset[bytes]
    lost: list[bytes]


def look(cwd: str, session: str, within: str | None = None, until: float | None = None) -> Changes | None:
    """Compare the work tree with the session's last snapshot, or the last one of that time. None if there is none."""
    place = written_tree.find(cwd, within=within)
    found = known(place.git, namespace_of(session)) if place is not None else []
    # Those around a restore show what a person did; the agent has not seen it.
    seen = [one for one in found if one.restores is None]
    if place is None or not seen:
        return None
    since = next((one for one in reversed(seen) if until is None or one.at <= until), seen[0])
    with thrown_away(place.git, place.objects) as git:
        tree = written_tree.write(replace(place, git=git), session, MOST_BYTES, found[-1].tree)
        left_out = {one.path for one in tree.left_out}
        changed = differing(git, since.tree, tree.id) - left_out
    moved = since.head is not None and since.head != place.head
    uncommitted = differing(place.git, since.head, since.tree) if moved and since.head else frozenset()
    gone = lost(since.head, place.head, uncommitted, changed)
    return Changes(since, place.head, place.branch, changed, gone)


def changed_since(cwd: str, session: str, within: str | None = None, until: float | None = None) -> list[str] | None:
    """The files that have changed since then (the agent's cut turn began), for the message that it is resumed with.

    None where no snapshot tells.
    """
    return changed_in(look(cwd, session, within, until))


def changed_in(changes: Changes | None) -> list[str] | None:
    """The same of a look that is there already."""
    return listed(changes.paths) if changes is not None else None


def conflict(changes: Changes | None, session: str) -> str | None:
    """What a person has to know before the agent continues: its work is not where it was. None if all is well."""
    if changes is None or not changes.lost:
        return None
    since = changes.since
    where = f"{changes.branch or 'what is checked out'} was moved from {_short(since.head)} to {_short(changes.head)}"
    return (
        f"{where} since snapshot {since.id[:10]}, and files that had uncommitted changes are not as they were: "
        f"{', '.join(listed(changes.lost, 10))}; nothing was overwritten. See them with `rekindle diff {session}`, "
        f"bring them back with `rekindle restore {session} --at {since.id[:10]} --to FOLDER`"
    )


def differing(git: Git, a: str, b: str) -> frozenset[bytes]:
    """The paths on which two trees differ."""
    told = git.output("diff-tree", "-r", "-z", "--name-only", "--no-renames", a, b)
    return frozenset(path for path in told.split(b"\0") if path)


def _short(commit: str | None) -> str:
    return commit[:10] if commit else "nothing"
