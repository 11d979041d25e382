"""The work-tree time machine from the command line: snapshots, restore, diff. They need no daemon."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click
import msgspec

from rekindle.app.time_travel import RestoreRequest
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_sessions, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--pin", metavar="S", help="Keep this snapshot for ever: the beginning of its id, or ~N.")
@click.option("--unpin", metavar="S", help="Let this snapshot expire again.")
@json_option
def snapshots(session: str, pin: str | None, unpin: str | None, as_json: bool) -> None:
    """List the snapshots of SESSION's work tree, oldest first."""
    found = use_cases().time_travel().listed(session, pin=pin, unpin=unpin)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    if not found.snapshots:
        print_lines(["No snapshots. They are taken at the end of each turn, if the agent works in a git repository."])
    for one in found.snapshots:
        when = datetime.fromtimestamp(one.at, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        where = one.branch or (f"detached at {one.head[:10]}" if one.head else "no commit yet")
        pinned = ", pinned" if one.pinned else ""
        print_lines([f"{one.id[:10]}  {when}  {printable(one.reason)}  ({printable(where)}{pinned})"])
        for name in one.left_out:
            print_lines([f"{'':12}without {printable(name)}"])


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--at", metavar="S", help="Which snapshot: the beginning of its id, or ~N for N before the last.")
@click.option("--to", metavar="PATH", type=click.Path(), help="A new folder; default: the work tree itself.")
@json_option
def restore(session: str, at: str | None, to: str | None, as_json: bool) -> None:
    """Restore a snapshot of SESSION, by default the last one.

    Without --to, the work tree is snapshotted first. Files that are in no snapshot are never overwritten or deleted.
    """
    restored = use_cases().time_travel().restore(RestoreRequest(session, at, to))
    done = restored.done
    if as_json:
        print_json({"session": restored.session, **msgspec.to_builtins(done)})
        return
    print_lines([f"{done.snapshot.id[:10]} ({printable(done.snapshot.reason)}) is in {printable(done.to)}"])
    if done.notice is not None:
        print_lines([f"  {printable(done.notice)}"])
    for name in done.snapshot.left_out:
        print_lines([f"  without {printable(name)}"])
    if done.before is not None:
        print_lines([f"  what was there before: rekindle restore {restored.session} --at {done.before[:10]}"])


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("a", required=False)
@click.argument("b", required=False)
@json_option
def diff(session: str, a: str | None, b: str | None, as_json: bool) -> None:
    """Show the changes from snapshot A (default: the last) to snapshot B (default: the current work tree)."""
    found = use_cases().time_travel().difference(session, a, b)
    if as_json:
        print_json({"session": found.session, "a": a, "b": b, "diff": found.told.decode("utf-8", "replace")})
        return
    sys.stdout.buffer.write(found.told)
    sys.stdout.buffer.flush()
