"""The work-tree time machine from the command line: snapshots, restore, diff. They need no daemon."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from rekindle import files
from rekindle.adapters.session_folder.rebuild import SESSION_FILE
from rekindle.adapters.snapshots import restoring
from rekindle.adapters.snapshots import taking as kept
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_sessions, json_option, places, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.places import Places
from rekindle.ports.errors import NoWorktree, OwnedError


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--pin", metavar="S", help="Keep this one for ever: the beginning of its id, or ~N.")
@click.option("--unpin", metavar="S", help="Let this one grow old again.")
@json_option
def snapshots(session: str, pin: str | None, unpin: str | None, as_json: bool) -> None:
    """List the snapshots of SESSION's work tree, oldest first."""
    row = _row(session)
    if pin is not None:
        kept.pin(_folder(row), row["id"], pin)
    if unpin is not None:
        kept.pin(_folder(row), row["id"], unpin, pinned=False)
    found = kept.listing(_folder(row), row["id"])
    if as_json:
        print_json({"session": row["id"], "snapshots": [msgspec.to_builtins(one) for one in found]})
        return
    if not found:
        print("No snapshots. They are taken at the end of each turn, where the agent works in a git repository.")
    for one in found:
        when = datetime.fromtimestamp(one.at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        where = one.branch or (f"detached at {one.head[:10]}" if one.head else "no commit yet")
        pinned = ", pinned" if one.pinned else ""
        print(f"{one.id[:10]}  {when}  {printable(one.reason)}  ({printable(where)}{pinned})")
        for name in one.left_out:
            print(f"{'':12}without {printable(name)}")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--at", metavar="S", help="Which snapshot: the beginning of its id, or ~N for N before the last.")
@click.option("--to", metavar="PATH", type=click.Path(), help="A new folder; by default the work tree itself.")
@json_option
def restore(session: str, at: str | None, to: str | None, as_json: bool) -> None:
    """Put a snapshot of SESSION back, by default the last one.

    Without --to the work tree is snapshotted first; files that no snapshot has are never overwritten or deleted.
    """
    row = _row(session)
    if to is None and row["is_running"]:
        raise OwnedError(
            f"the agent of session {row['id']} works in {row['cwd']}",
            f"stop it first (rekindle stop {row['id']}), or restore to a new folder with --to PATH",
        )
    if to is None:
        _require_tree(row, "restore to a new folder with --to PATH")
    done = restoring.restore(_folder(row), row["id"], at, to, time.time())
    if as_json:
        print_json({"session": row["id"], **msgspec.to_builtins(done)})
        return
    print(f"{done.snapshot.id[:10]} ({printable(done.snapshot.reason)}) is in {printable(done.to)}")
    if done.notice is not None:
        print(f"  {printable(done.notice)}")
    for name in done.snapshot.left_out:
        print(f"  without {printable(name)}")
    if done.before is not None:
        print(f"  what was there before: rekindle restore {row['id']} --at {done.before[:10]}")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("a", required=False)
@click.argument("b", required=False)
def diff(session: str, a: str | None, b: str | None) -> None:
    """What changed from snapshot A (by default the last) to snapshot B (by default the work tree as it is)."""
    row = _row(session)
    if b is None:
        _require_tree(row, "give two snapshots to compare")
    sys.stdout.buffer.write(kept.difference(_folder(row), row["id"], a, b))
    sys.stdout.buffer.flush()


def _row(prefix: str) -> dict[str, Any]:
    found = use_cases().sessions().row(prefix)
    return {**found, **_begun(places(), found["id"])}


def _begun(places: Places, session: str) -> dict[str, str | None]:
    """Where the session was begun, which a list made without the daemon does not have."""
    try:
        found = json.loads(files.read(os.path.join(places.sessions, session, SESSION_FILE)))
    except (OSError, ValueError):
        found = {}
    return {key: found.get(key) for key in ("repository", "worktree")}


def _require_tree(row: dict[str, Any], instead: str) -> None:
    """Whatever lies around a work tree that is gone is not it."""
    if not os.path.isdir(row["worktree"] or row["cwd"]):
        raise NoWorktree(
            f"the work tree {row['worktree'] or row['cwd']} is gone",
            f"{instead}; `rekindle resume {row['id']}` builds a worktree again",
        )


def _folder(row: dict[str, Any]) -> str:
    """The session's folder or, where that is gone, one that shares its snapshots: any worktree of the repository."""
    if os.path.isdir(row["cwd"]):
        return str(row["cwd"])
    if row["repository"] and os.path.isdir(row["repository"]):
        return str(row["repository"])
    return os.getcwd() if kept.listing(os.getcwd(), row["id"]) else str(row["cwd"])
