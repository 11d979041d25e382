"""`rekindle logs` and `rekindle attach`: the conversation, from the spools, with or without a daemon."""

from __future__ import annotations

import sys
import time

import click

from rekindle.doors.cli.attached import Attached
from rekindle.doors.cli.live import LiveView
from rekindle.doors.cli.options import complete_resumable, complete_sessions, daemon, json_option, print_json
from rekindle.doors.cli.terminals import enter
from rekindle.doors.cli.use_cases import use_cases
from rekindle.doors.cli.watching import watch


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--follow", "-f", is_flag=True, help="Go on as the agent speaks, until Ctrl-C.")
@click.option("--jsonl", is_flag=True, help="Print one JSON object per entry.")
@json_option
def logs(session: str, follow: bool, jsonl: bool, as_json: bool) -> None:
    """The conversation of SESSION, over all its attempts."""
    name = named(session)
    conversation = use_cases().conversations().follow(name)
    if as_json:
        entries = [{"attempt": one.attempt, "kind": one.kind, "text": one.text} for one in conversation.poll()]
        print_json({"id": name, "entries": entries})
        return
    view = LiveView()
    while True:
        found = conversation.poll()
        if jsonl:
            for entry in found:
                print_json({"attempt": entry.attempt, "kind": entry.kind, "text": entry.text})
        else:
            view.show(found)
        if not follow:
            view.rest()
            return
        sys.stdout.flush()
        time.sleep(0.15)


@click.command()
@click.argument("what", shell_complete=complete_resumable)
def attach(what: str) -> int:
    """Come back to WHAT: a session, or a feature's run. Ctrl-C leaves it, and it goes on.

    Of a session you see what its agent does, talk to it a line at a time and answer it; an agent that is used in a
    terminal is shown in it (Ctrl-b d leaves it). Of a feature you see the board: tasks, questions, what went wrong.
    """
    feature = use_cases().waiting().feature_meant(what)
    if feature is not None:
        from rekindle.doors.cli import features

        return features.attach(feature)
    name = named(what)
    if use_cases().conversations().is_in_terminal(name):
        return enter(name)
    if not sys.stdin.isatty():
        client = daemon()
        return watch(client, name, put_to_sleep=False, known=client.ask("show", session=name))
    return Attached(name).converse()


def named(prefix: str) -> str:
    """The session that an id, or the beginning of one, means."""
    return use_cases().sessions().meant(prefix)
