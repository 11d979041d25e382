"""`rekindle export`: a session in one file. Needs no daemon, and does not disturb a live agent."""

from __future__ import annotations

import click
import msgspec

from rekindle.app.archives import ExportRequest
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.measure import counted
from rekindle.doors.cli.options import complete_sessions, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option(
    "--output",
    "-o",
    metavar="FILE",
    type=click.Path(),
    help="The file to write; default: rekindle-ID.tar.gz in this folder.",
)
@click.option("--with-secrets", is_flag=True, help="Mask nothing. Environment values are never included.")
@json_option
def export(session: str, output: str | None, with_secrets: bool, as_json: bool) -> None:
    """Write SESSION to one file: the conversation, the agent's own record, receipts, and snapshots of its files.

    Secrets are masked, unless you say otherwise. `rekindle import` restores the session on another machine.

    \b
    Example:
      rekindle export 3f9a -o moving.tar.gz
    """
    done = use_cases().moving().export(ExportRequest(session, output, with_secrets))
    if as_json:
        manifest = {key: value for key, value in msgspec.to_builtins(done.manifest).items() if key != "members"}
        print_json({"file": done.file, "bytes": done.bytes, **manifest, "notes": done.notes})
        return
    counts = done.manifest.counts
    held = f"{counted(counts['attempts'], 'attempt')}, {counted(counts['snapshots'], 'snapshot')}"
    print_lines([f"{done.session}: written to {printable(done.file)} ({held})."])
    if with_secrets:
        print_lines(["  Nothing was masked: protect the file like a password."])
    elif done.manifest.masked:
        told = ", ".join(f"{label} ({count})" for label, count in done.manifest.masked.items())
        print_lines([f"  masked: {printable(told)}"])
    for path in done.manifest.masked_files:
        print_lines([f"  masked in a snapshot: {printable(path)}"])
    for note in done.notes:
        print_lines([f"rekindle: {printable(note)}"], err=True)
