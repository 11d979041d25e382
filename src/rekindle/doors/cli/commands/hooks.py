"""`rekindle hooks`: makes Claude Code report its tool calls to the journal, or stop doing so."""

from __future__ import annotations

import click

from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.group()
def hooks() -> None:
    """Install or remove the Claude Code hooks of a project."""


def _local_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option("--local", is_flag=True, help="Use .claude/settings.local.json, which is not shared.")(function)


@hooks.command(short_help="Make Claude Code report what it does.")
@_local_option
@json_option
def install(local: bool, as_json: bool) -> None:
    """Make Claude Code report its tool calls, file changes and branches to the current feature's journal."""
    done = use_cases().hooks().install(local=local)
    file, command, added = done.file, done.command, done.added
    if as_json:
        print_json({"file": str(file), "command": command, "added": added})
    elif added:
        print_lines([f"{file}: {', '.join(added)} now run {command}. Remove them with `rekindle hooks uninstall`."])
    else:
        print_lines([f"{file}: the hooks are already installed."])


@hooks.command()
@_local_option
@json_option
def uninstall(local: bool, as_json: bool) -> None:
    """Remove the hooks; nothing else in the settings changes."""
    removed = use_cases().hooks().uninstall(only_local=local)
    if as_json:
        print_json({"removed": removed})
        return
    for name, events in removed.items():
        if events:
            print_lines([f"{name}: taken out of {', '.join(events)}."])
    if not any(removed.values()):
        print_lines([f"{' and '.join(removed)}: no rekindle hooks were installed."])
