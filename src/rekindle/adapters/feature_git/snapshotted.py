"""What the snapshots of a feature's sessions say about its work: asked of git at once, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rekindle.adapters.feature_git import strays
from rekindle.adapters.feature_git.place import FeaturePlace
from rekindle.adapters.snapshots import taking
from rekindle.ports.snapshots import Snapshot

#: With more sessions than this, all snapshots are listed, not only theirs.
_MOST = 100


def sessions(place: FeaturePlace, branches: Mapping[str, str]) -> frozenset[str]:
    """Those sessions whose newest snapshot on their branch has more than the branch, which has not moved since."""
    if not branches:
        return frozenset()
    spaces = {taking.namespace_of(session): session for session in branches}
    heads = dict.fromkeys(f"refs/heads/{branch}" for branch in branches.values())
    few = len(branches) <= _MOST
    patterns = (*spaces, *heads) if few else (taking.NAMESPACE, "refs/heads/")
    tips: dict[str, Snapshot] = {}
    newest: dict[str, Snapshot] = {}
    for ref, found in taking.described(place.git, *patterns):
        space, _, number = ref.rpartition("/")
        session = spaces.get(f"{space}/")
        if ref in heads:
            tips[ref.removeprefix("refs/heads/")] = found
        elif session is not None and number.isdecimal() and found.branch == branches[session]:
            newest[session] = max(newest.get(session, found), found, key=lambda one: one.number)
    return frozenset(
        session
        for session, found in newest.items()
        if (tip := tips.get(branches[session])) is not None and tip.id == found.head and tip.tree != found.tree
    )


def fallen(place: FeaturePlace, branches: Mapping[str, str]) -> dict[str, str]:
    """Where branches that are gone were when the newest snapshot of their session was taken, by session.

    git forgets that with the worktree, or with its reflog, but a snapshot keeps the commit that it was taken on. One
    that has nothing beyond the feature does not count, nor one that was set aside when its task was started over.
    """
    gone = {session: branch for session, branch in branches.items() if place.tip(branch) is None}
    spaces = {taking.namespace_of(session): session for session in gone}
    newest: dict[str, Snapshot] = {}
    for ref, found in taking.described(place.git, *spaces) if spaces else ():
        space, _, number = ref.rpartition("/")
        session = spaces.get(f"{space}/")
        if session is not None and number.isdecimal() and found.branch == gone[session] and found.head is not None:
            newest[session] = max(newest.get(session, found), found, key=lambda one: one.number)
    aside = strays.set_aside(place) if newest else ()
    return {
        session: found.head
        for session, found in newest.items()
        if found.head is not None and _has_work(place, found, found.head)
        if not any(place.is_ancestor(found.head, one) for one in aside)
    }


def _has_work(place: FeaturePlace, snapshot: Snapshot, head: str) -> bool:
    target = place.tip(place.branch)
    if target is None or not place.is_ancestor(head, target):
        return True
    return place.git.line("rev-parse", f"{head}^{{tree}}") != snapshot.tree


def reasons(place: FeaturePlace, sessions_: Collection[str]) -> dict[str, frozenset[str]]:
    """Why each snapshot of these sessions was taken."""
    spaces = {taking.namespace_of(session): session for session in sessions_}
    found: dict[str, set[str]] = {session: set() for session in sessions_}
    for ref, snapshot in taking.described(place.git, *spaces) if spaces else ():
        space, _, number = ref.rpartition("/")
        if number.isdecimal() and f"{space}/" in spaces:
            found[spaces[f"{space}/"]].add(snapshot.reason)
    return {session: frozenset(each) for session, each in found.items()}
