"""`rekindle import`: restores an exported session on this machine."""

from __future__ import annotations

import sys

import click
import msgspec

from rekindle.app.archives import ImportRequest
from rekindle.core.archive_trust import TRUSTABLE
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--cwd", type=click.Path(), default=".", help="The folder the agent works in from now on.")
@click.option("--as-new", is_flag=True, help="Give the session a new id, and the agent's conversation a new name.")
@click.option(
    "--trust",
    "trusted",
    multiple=True,
    type=click.Choice(TRUSTABLE),
    help="Accept what the archive asks for: its permission, its arguments for the agent, its feature, or the prompts"
    " that were not sent yet. Can be repeated.",
)
@json_option
def import_(file: str, cwd: str, as_new: bool, trusted: tuple[str, ...], as_json: bool) -> None:
    """Import the session in FILE. It is asleep, or interrupted as it was; `rekindle resume` continues it.

    The agent gets the environment of this command. The whole file is checked first; either everything is imported or
    nothing is. The archive's wishes are shown, and reset unless --trust names them.

    \b
    Example:
      rekindle import moving.tar.gz --cwd ~/src/project && rekindle resume 3f9a
      rekindle import moving.tar.gz --trust arguments --trust prompts
    """
    done = use_cases().moving().put_in_place(ImportRequest(file, cwd, as_new, trusted))
    if as_json:
        manifest = {key: value for key, value in msgspec.to_builtins(done.manifest).items() if key != "members"}
        print_json(
            {
                "id": done.id,
                "status": done.status,
                "cwd": done.cwd,
                "archive": manifest,
                "asked": msgspec.to_builtins(done.wishes),
                "notes": done.notes,
            }
        )
        return
    print_lines([f"{done.id}: imported, {done.status}.", f"  {next_step(f'rekindle resume {done.id}')}"])
    print("  The archive asks for:")
    for wish in done.wishes:
        print(f"    {printable(str(wish))}")
    if done.was_reset:
        print("  To accept these, import it again with --as-new and --trust (see --help).")
    if done.manifest.masked or done.manifest.masked_files:
        print("  Its secrets were masked when it was written.")
    for note in done.notes:
        print(f"rekindle: {printable(note)}", file=sys.stderr)
