"""`rekindle hooks`: makes Claude Code report its tool calls and find back into skill sessions, or stop doing so."""

from __future__ import annotations

import click

from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.group()
def hooks() -> None:
    """Install or remove the hooks of agents in a project."""


def _local_option(function: click.decorators.FC) -> click.decorators.FC:
    return click.option("--local", is_flag=True, help="Use .claude/settings.local.json, which is not shared.")(function)


@hooks.command(short_help="Make Claude Code report what it does, and find its way back.")
@_local_option
@click.option(
    "--agent",
    type=click.Choice(["claude", "codex", "gemini", "qwen", "copilot"]),
    default="claude",
    help="All but claude only get their skill session back when a conversation starts.",
)
@json_option
def install(local: bool, agent: str, as_json: bool) -> None:
    """Make Claude Code report its tool calls, file changes and branches to the current feature's journal.

    It also gives a fresh conversation the dehydrated context of its skill session, and installs the command /session
    and the skill that says how to resume.
    """
    done = use_cases().hooks().install(local=local, agent=agent)
    file, command, added = done.file, done.command, done.added
    if as_json:
        print_json(
            {"file": str(file), "command": command, "added": added, "texts": dict(done.texts), "trust": done.trust}
        )
        return
    if added:
        print_lines([f"{file}: {', '.join(added)} now run {command}. Remove them with `rekindle hooks uninstall`."])
    else:
        print_lines([f"{file}: the hooks are already installed."])
    print_lines([f"{name}: {_TOLD[what]}" for name, what in done.texts.items() if what != "unchanged"])
    print_lines([done.trust] if done.trust else [])


#: What became of a file that agents read.
_TOLD = {
    "written": "written, for skill sessions.",
    "removed": "removed.",
    "kept": "left as it is: it was not written by rekindle, or was changed since.",
}


@hooks.command()
@_local_option
@json_option
def uninstall(local: bool, as_json: bool) -> None:
    """Remove the hooks of all agents, the command and the skill.

    Nothing else in the settings changes.
    """
    done = use_cases().hooks().uninstall(only_local=local)
    removed = done.events
    if as_json:
        print_json({"removed": removed, "texts": dict(done.texts)})
        return
    for name, events in removed.items():
        if events:
            print_lines([f"{name}: taken out of {', '.join(events)}."])
    if not any(removed.values()):
        print_lines([f"{' and '.join(removed)}: no rekindle hooks were installed."])
    print_lines([f"{name}: {_TOLD[what]}" for name, what in done.texts.items()])
