"""The kept states of sessions' work trees: listed, put back, compared. They need no daemon."""

from __future__ import annotations

import os
import time
from typing import Any

import msgspec

from rekindle.app.session_list import SessionList
from rekindle.ports.errors import NoWorktree, OwnedError
from rekindle.ports.kept_sessions import KeptSessions
from rekindle.ports.snapshots import KeptTrees, Restored, Snapshot

Row = dict[str, Any]


class SnapshotList(msgspec.Struct, frozen=True):
    """The snapshots of a session, oldest first."""

    session: str
    snapshots: tuple[Snapshot, ...]


class TreeDifference(msgspec.Struct, frozen=True):
    """What changed in the work tree of a session, as git tells it: names and contents may be in any encoding."""

    session: str
    told: bytes


class RestoreRequest(msgspec.Struct, frozen=True):
    """`at` is the beginning of a snapshot's id or ~N, by default the last; `to` a new folder, by default the tree."""

    session: str
    at: str | None = None
    to: str | None = None


class RestoredTree(msgspec.Struct, frozen=True):
    """What was put back of which session."""

    session: str
    done: Restored


class TimeTravel:
    """`session` is always an id, or the beginning of one."""

    def __init__(self, sessions: SessionList, kept: KeptSessions, trees: KeptTrees) -> None:
        self._sessions = sessions
        self._kept = kept
        self._trees = trees

    def listed(self, session: str, *, pin: str | None = None, unpin: str | None = None) -> SnapshotList:
        """All snapshots, after marking one to be kept forever, or to expire again."""
        row = self._row(session)
        if pin is not None:
            self._trees.pin(self._folder(row), row["id"], pin)
        if unpin is not None:
            self._trees.pin(self._folder(row), row["id"], unpin, pinned=False)
        return SnapshotList(row["id"], tuple(self._trees.listing(self._folder(row), row["id"])))

    def restore(self, asked: RestoreRequest) -> RestoredTree:
        """Put a snapshot back. A work tree is not changed under an agent that works in it."""
        row = self._row(asked.session)
        if asked.to is None and row["is_running"]:
            raise OwnedError(
                f"the agent of session {row['id']} works in {row['cwd']}",
                f"stop it first (rekindle stop {row['id']}), or restore to a new folder with --to PATH",
            )
        if asked.to is None:
            _require_tree(row, "restore to a new folder with --to PATH")
        return RestoredTree(
            row["id"], self._trees.restore(self._folder(row), row["id"], asked.at, asked.to, time.time())
        )

    def difference(self, session: str, a: str | None, b: str | None) -> TreeDifference:
        """What changed from one snapshot to another or, without `b`, to the work tree as it is."""
        row = self._row(session)
        if b is None:
            _require_tree(row, "give two snapshots to compare")
        return TreeDifference(row["id"], self._trees.difference(self._folder(row), row["id"], a, b))

    def _row(self, prefix: str) -> Row:
        """A list made without the daemon does not say where a session was started; its folder does."""
        found = self._sessions.own_row(prefix, "its work tree and its snapshots are there")
        begun = self._kept.begun(found["id"])
        return {**found, **{key: begun.get(key) for key in ("repository", "worktree")}}

    def _folder(self, row: Row) -> str:
        """The session's folder or, if that is gone, any of its repository's, which share the snapshots."""
        if os.path.isdir(row["cwd"]):
            return str(row["cwd"])
        if row["repository"] and os.path.isdir(row["repository"]):
            return str(row["repository"])
        return os.getcwd() if self._trees.listing(os.getcwd(), row["id"]) else str(row["cwd"])


def _require_tree(row: Row, instead: str) -> None:
    """A folder around a missing work tree is not that work tree."""
    if not os.path.isdir(row["worktree"] or row["cwd"]):
        raise NoWorktree(
            f"the work tree {row['worktree'] or row['cwd']} is gone",
            f"{instead}; `rekindle resume {row['id']}` rebuilds a worktree",
        )
