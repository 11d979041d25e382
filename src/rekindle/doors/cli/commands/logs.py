"""`rekindle logs` and `rekindle attach`: the conversation, from the spools, with or without a daemon."""

from __future__ import annotations

import sys

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli import watching
from rekindle.doors.cli.live import LiveView
from rekindle.doors.cli.options import complete_resumable, complete_sessions, json_option, print_json
from rekindle.doors.cli.terminals import enter
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import UsageError

#: How often `logs -f` checks when nothing notifies it of more output.
_LOOK_SECONDS = 1.0


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--follow", "-f", is_flag=True, help="Keep printing as the agent speaks, until Ctrl-C.")
@click.option("--jsonl", is_flag=True, help="Print one JSON object per entry.")
@json_option
def logs(session: str, follow: bool, jsonl: bool, as_json: bool) -> None:
    """Show the conversation of SESSION, across all its attempts."""
    name = named(session)
    conversation = use_cases().conversations().follow(name)
    if as_json:
        entries = [{"attempt": one.attempt, "kind": one.kind, "text": one.text} for one in conversation.poll()]
        source = {"source": conversation.source} if conversation.source else {}
        print_json({"id": name, "entries": entries, **source})
        return
    view, is_told = LiveView(), False
    while True:
        found = conversation.poll()
        if jsonl:
            for entry in found:
                print_json({"attempt": entry.attempt, "kind": entry.kind, "text": entry.text})
        else:
            view.show(found)
        if not follow:
            view.rest()
            _tell_source(conversation.source)
            return
        sys.stdout.flush()
        if not is_told:
            _tell_source(conversation.source)
            is_told = True
        conversation.wait(_LOOK_SECONDS)


@click.command()
@click.argument("what", shell_complete=complete_resumable)
def attach(what: str) -> int:
    """Reconnect to WHAT: a session, or a feature's run. Ctrl-C detaches; it keeps running.

    For a session, you see its agent's output, send it prompts line by line and answer its questions. An agent in a
    terminal opens in that terminal (Ctrl-b d detaches). For a feature, you see the board: tasks, questions, problems.
    """
    feature = use_cases().waiting().feature_meant(what)
    if feature is not None:
        from rekindle.doors.cli import features

        return features.attach(feature)
    name = named(what)
    if use_cases().conversations().is_in_terminal(name):
        if source := use_cases().conversations().follow(name).source:
            raise UsageError(
                f"session {name} is used in a terminal of another host (this is {source})",
                f"attach to it there, or read it here: rekindle logs -f {name}",
            )
        return enter(name)
    return watching.attach(name)


def _tell_source(source: str) -> None:
    """Say what was read, if it was not the original."""
    if source:
        click.echo(f"rekindle: this is {printable(source)}", err=True)


def named(prefix: str) -> str:
    """The session that an id, or the beginning of one, means."""
    return use_cases().sessions().meant(prefix)
