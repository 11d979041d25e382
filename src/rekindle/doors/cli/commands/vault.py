"""`rekindle vault verify|diff`: the kept copies of conversations. They need no daemon."""

from __future__ import annotations

import sys

import click
import msgspec

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_sessions, json_option, print_json
from rekindle.doors.cli.use_cases import use_cases


@click.group()
def vault() -> None:
    """Check rekindle's copies of conversations: spools of all attempts, and the agents' own records."""


@vault.command()
@click.argument("session", required=False, shell_complete=complete_sessions)
@json_option
def verify(session: str | None, as_json: bool) -> int:
    """Check every copied byte, of SESSION or of all sessions. Exits with 1 if something is damaged."""
    report = use_cases().vaults().verify(session)
    found, is_whole = report.sessions, report.is_whole
    if as_json:
        print_json({"whole": is_whole, "sessions": msgspec.to_builtins(found)})
        return 0 if is_whole else 1
    for name, files in found.items():
        copied = sum(file.bytes for file in files)
        told = "whole" if not any(file.damage for file in files) else "damaged"
        print(f"{name}: {len(files)} {'copy' if len(files) == 1 else 'copies'}, {copied} bytes, {told}")
        for file in files:
            for at, end, why in file.damage:
                print(f"  {printable(file.path)}: {why}, bytes {at} to {end}")
            if file.torn is not None:
                print(
                    f"  {printable(file.path)}: ends with {file.torn} (a writer was interrupted, or is still writing)"
                )
    if not found:
        print("Nothing is kept yet.")
    return 0 if is_whole else 1


@vault.command(short_help="Show what was changed in an agent's own record.")
@click.argument("session", shell_complete=complete_sessions)
@json_option
def diff(session: str, as_json: bool) -> None:
    """Show what the last pre-flight of SESSION changed in the agent's record."""
    found = use_cases().vaults().difference(session)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    if not found.diff:
        click.echo("No pre-flight has changed the agent's record.", err=True)
    sys.stdout.write(found.diff)
