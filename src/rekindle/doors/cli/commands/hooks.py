"""`rekindle hooks`: Claude Code reports its tool calls to the journal, or does not any more."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from rekindle.doors.cli.options import json_option, print_json, workspace
from rekindle.hooks import install as installer


@click.group()
def hooks() -> None:
    """Install the Claude Code hooks of a project, or take them out."""


def _local_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option(
        "--local", is_flag=True, help="Use .claude/settings.local.json, which is yours alone and not shared."
    )(function)


@hooks.command()
@_local_option
@json_option
def install(local: bool, as_json: bool) -> None:
    """Let Claude Code report its tool calls, file changes and branches to the journal of the feature at hand."""
    file = _file(local)
    command = installer.PROGRAM
    if shutil.which(command) is None:
        beside = Path(sys.executable).with_name(installer.PROGRAM)
        command = shlex.quote(str(beside)) if beside.exists() else command
    added = installer.install(file, command)
    if as_json:
        print_json({"file": str(file), "command": command, "added": added})
    elif added:
        print(f"{file}: {', '.join(added)} now run {command}. Take them out with `rekindle hooks uninstall`.")
    else:
        print(f"{file}: the hooks are there already.")


@hooks.command()
@_local_option
@json_option
def uninstall(local: bool, as_json: bool) -> None:
    """Take the hooks out again; nothing else in the settings changes."""
    files = [_file(True)] if local else [_file(False), _file(True)]
    removed = {str(file): installer.uninstall(file) for file in files}
    if as_json:
        print_json({"removed": removed})
        return
    for name, events in removed.items():
        if events:
            print(f"{name}: taken out of {', '.join(events)}.")
    if not any(removed.values()):
        print(f"{' and '.join(removed)}: there were no hooks of rekindle.")


def _file(local: bool) -> Path:
    repo = workspace().repository
    return installer.settings_file(repo.top or repo.root, "settings.local.json" if local else "settings.json")
