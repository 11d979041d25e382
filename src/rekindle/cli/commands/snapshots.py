"""The work-tree time machine from the command line: snapshots, restore, diff. They need no daemon."""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from rekindle.adapters import restoring
from rekindle.adapters import snapshots as kept
from rekindle.api.places import Places
from rekindle.api.service import NoSuchSession
from rekindle.cli.commands.ps import sessions
from rekindle.cli.options import complete_sessions, json_option, print_json
from rekindle.cli.outcome import printable
from rekindle.ports.errors import OwnedError
from rekindle.settings import load


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@json_option
def snapshots(session: str, as_json: bool) -> None:
    """List the snapshots of SESSION's work tree, oldest first."""
    row = _row(session)
    found = kept.listing(_folder(row), row["id"])
    if as_json:
        print_json({"session": row["id"], "snapshots": [msgspec.to_builtins(one) for one in found]})
        return
    if not found:
        print("No snapshots. They are taken at the end of each turn, where the agent works in a git repository.")
    for one in found:
        when = datetime.fromtimestamp(one.at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        where = one.branch or (f"detached at {one.head[:10]}" if one.head else "no commit yet")
        print(f"{one.id[:10]}  {when}  {printable(one.reason)}  ({printable(where)})")
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
    done = restoring.restore(_folder(row), row["id"], at, to, time.time())
    if as_json:
        print_json({"session": row["id"], **msgspec.to_builtins(done)})
        return
    print(f"{done.snapshot.id[:10]} ({printable(done.snapshot.reason)}) is in {printable(done.to)}")
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
    sys.stdout.buffer.write(kept.difference(_folder(row), row["id"], a, b))
    sys.stdout.buffer.flush()


def _row(prefix: str) -> dict[str, Any]:
    rows = [row for row in sessions(Places(load(os.environ, None))) if prefix and row["id"].startswith(prefix)]
    exact = [row for row in rows if row["id"] == prefix] or rows
    if len(exact) == 1:
        return exact[0]
    if not exact:
        raise NoSuchSession(f"there is no session {prefix!r}", "`rekindle ps --all` lists them")
    names = ", ".join(row["id"] for row in exact[:5])
    raise NoSuchSession(f"{prefix!r} can mean {len(exact)} sessions: {names}", "give more of the id")


def _folder(row: dict[str, Any]) -> str:
    """The session's folder or, where that is gone, the current one: all worktrees of a repository share snapshots."""
    if not os.path.isdir(row["cwd"]) and kept.listing(os.getcwd(), row["id"]):
        return os.getcwd()
    return str(row["cwd"])
