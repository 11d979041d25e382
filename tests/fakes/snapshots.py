"""Snapshots in memory that keep the promises of the port; held to them by the conformance suite."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from rekindle.core.session.state import Session
from rekindle.core.thinning import SnapshotAge, to_drop
from rekindle.ports.errors import GitFailed
from rekindle.ports.snapshots import Snapshot

Tree = dict[str, str]


@dataclass
class Repositories:
    """What outlives a daemon: work trees by their folder, what was kept of them by session, and the marks."""

    trees: dict[str, Tree] = field(default_factory=dict)
    kept: dict[str, list[tuple[float, str, Tree]]] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)


class FakeSnapshots:
    """See `rekindle.ports.snapshots.Snapshots`."""

    def __init__(self, repositories: Repositories | None = None) -> None:
        self.repositories = repositories or Repositories()
        self.ended = threading.Event()
        self._lock = threading.Lock()

    def take(self, session: Session, reason: str, now: float) -> Snapshot | None:
        self._check()
        with self._lock:
            tree = self.repositories.trees.get(session.cwd)
            kept = self.repositories.kept.setdefault(session.id, [])
            if tree is None or (kept and kept[-1][2] == tree):
                return None
            kept.append((now, reason, dict(tree)))
            return Snapshot(f"{len(kept):040x}", len(kept), session.id, int(now), reason, "")

    def thin(self, session: Session, now: float) -> object:
        self._check()
        with self._lock:
            kept = self.repositories.kept.setdefault(session.id, [])
            gone = to_drop([SnapshotAge(int(at), False) for at, _, _ in kept], now)
            self.repositories.kept[session.id] = [one for number, one in enumerate(kept) if number not in set(gone)]
            return gone

    def owe(self, session: str, reason: str) -> None:
        self.repositories.marks[session] = reason

    def owed(self) -> dict[str, str]:
        return dict(self.repositories.marks)

    def paid(self, session: str) -> None:
        self.repositories.marks.pop(session, None)

    def end(self) -> None:
        self.ended.set()

    def _check(self) -> None:
        if self.ended.is_set():
            raise GitFailed("git was not started: rekindle is stopping")
