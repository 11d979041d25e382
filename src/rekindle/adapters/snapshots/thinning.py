"""Removes the private refs of snapshots that have grown old. Only refs go: git's own clean-up frees the room later."""

from __future__ import annotations

from rekindle.adapters.git import private_index, written_tree
from rekindle.adapters.git.git import Children
from rekindle.adapters.snapshots.taking import known, namespace_of, ref_of
from rekindle.core.thinning import SnapshotAge, to_drop
from rekindle.ports.snapshots import Snapshot


def thin(cwd: str, session: str, now: float, *, children: Children | None = None) -> list[Snapshot]:
    """Thin the snapshots of one session, in the repository around a folder, and say which are gone."""
    place = written_tree.find(cwd, children)
    if place is None:
        return []
    private_index.clean(place.git_dir, now)
    found = known(place.git, namespace_of(session))
    gone = [found[position] for position in to_drop([SnapshotAge(one.at, one.pinned) for one in found], now)]
    if gone:
        # With the old value of each: one that is not what was judged stays, and all the others with it.
        orders = b"".join(f"delete {ref_of(one)} {one.id}\n".encode() for one in gone)
        place.git.output("update-ref", "--no-deref", "--stdin", stdin=orders)
    return gone
