"""`rekindle runbook`: what is done by itself when an agent is idle, dies, fails, stalls, asks or hits a limit."""

from __future__ import annotations

import sys

import click
import msgspec

from rekindle.core.runbook.runbook import Runbook
from rekindle.core.runbook.shape import json_schema
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.reading import read_file
from rekindle.doors.cli.use_cases import use_cases

#: Larger than any runbook written by hand.
LONGEST = 1 << 20


@click.group()
def runbook() -> None:
    """Runbooks: what an agent runs, and what happens by itself when it is idle, dies or fails.

    \b
    rekindle runbook show                 the rules that hold where you say nothing
    rekindle runbook check book.toml      a file with an [agent.worker] table
    rekindle run --runbook book.toml worker "Add a login form"

    Your own defaults for every session go into runbook.toml beside your settings (see `rekindle config path`).
    """


@runbook.command("check")
@click.argument("file", type=click.Path())
@json_option
def check_(file: str, as_json: bool) -> None:
    """Check FILE. Reads nothing but FILE, and starts nothing.

    Exit status 2 if it is wrong, with the line, the key and what is allowed there.
    """
    found = use_cases().runbooks().check(read_file(file, "runbook", LONGEST), file)
    if as_json:
        steps = [msgspec.to_builtins(one) for one in found.steps]
        print_json({"file": file, "agents": list(found.agents), "steps": steps, "warnings": list(found.warnings)})
        return
    for warning in found.warnings:
        print(f"warning: {printable(warning)}", file=sys.stderr)
    print(f"{printable(file)}: {_counted(found)}.")


@runbook.command("show", short_help="Print the runbook that holds for every session.")
@json_option
def show_(as_json: bool) -> None:
    """Print the runbook that holds for every session: your own, or the built-in one."""
    found = use_cases().runbooks().shown()
    if as_json:
        print_json({"file": found.file, "text": found.text})
        return
    if found.file is not None:
        print(f"From {printable(found.file)}; what it leaves out is built in.", file=sys.stderr)
    print(found.text, end="")


@runbook.command("schema")
def schema_() -> None:
    """Print the JSON Schema of a runbook, for editors."""
    print_json(json_schema())


def _counted(found: Runbook) -> str:
    parts = [(len(found.agents), "agent"), (len(found.steps), "step"), (len(found.warnings), "warning")]
    told = [f"{number} {word}{'' if number == 1 else 's'}" for number, word in parts if number]
    return ", ".join(told) or "defaults only"
