"""`rekindle export`: a session in one file. Needs no daemon, and does not disturb a live agent."""

from __future__ import annotations

import os
import sqlite3
import sys
import time

import click
import msgspec

from rekindle.adapters.moving.export import export as write
from rekindle.adapters.snapshots import taking
from rekindle.adapters.sql_store import quick
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.commands.logs import named
from rekindle.doors.cli.options import complete_sessions, json_option, places, print_json
from rekindle.ports.errors import RekindleError, UsageError


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--output", "-o", metavar="FILE", type=click.Path(), help="By default rekindle-ID.tar.gz, here.")
@click.option("--with-secrets", is_flag=True, help="Mask nothing. The environment's values are never in it.")
@json_option
def export(session: str, output: str | None, with_secrets: bool, as_json: bool) -> None:
    """Write SESSION into one file: what was said, the agent's own record, receipts, and snapshots of its files.

    Secrets are masked in all of it, unless told otherwise; `rekindle import` puts it in place on another machine.

    \b
    Example:
      rekindle export 3f9a -o moving.tar.gz
    """
    name = named(session)
    target = os.path.abspath(output or f"rekindle-{name}.tar.gz")
    if os.path.isdir(target) or not os.path.isdir(os.path.dirname(target)):
        raise UsageError(f"{target} cannot be written", "give the path of a file in a folder that is there")
    here = places()
    try:
        facts = quick.facts(here.store, name)
    except sqlite3.Error as error:
        raise RekindleError(f"{here.store}: {error}", "see `rekindle doctor`") from error
    notes = _snapshot(here.store, name)
    done = write(os.path.join(here.sessions, name), facts, target, os.environ, with_secrets=with_secrets)
    notes += [*done.notes, *(f"left out: {one}" for one in done.manifest.left_out)]
    if as_json:
        manifest = {key: value for key, value in msgspec.to_builtins(done.manifest).items() if key != "members"}
        print_json({"file": target, "bytes": os.path.getsize(target), **manifest, "notes": notes})
        return
    counts = done.manifest.counts
    print(f"{name}: written to {printable(target)} ({counts['attempts']} attempts, {counts['snapshots']} snapshots).")
    if with_secrets:
        print("  Nothing was masked: treat the file like a password.")
    elif done.manifest.masked:
        told = ", ".join(f"{label} ({count})" for label, count in done.manifest.masked.items())
        print(f"  masked: {printable(told)}")
    for path in done.manifest.masked_files:
        print(f"  masked in a snapshot: {printable(path)}")
    for note in notes:
        print(f"rekindle: {printable(note)}", file=sys.stderr)


def _snapshot(store: str, session: str) -> list[str]:
    """Keep the work tree as it is now, if it is there."""
    cwd = next((str(row["cwd"]) for row in quick.rows(store) if row["id"] == session), "")
    if not os.path.isdir(cwd):
        return [f"{cwd} is not there, so there are no snapshots in the archive"]
    try:
        taking.take(cwd, session, "before an export", time.time())
    except RekindleError as error:
        return [f"the work tree as it is now is not in the archive: {error.message}"]
    return []
