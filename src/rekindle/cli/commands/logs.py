"""`rekindle logs` and `rekindle attach`: the conversation, from the spools, with or without a daemon."""

from __future__ import annotations

import os
import sys
import threading
import time

import click

from rekindle.adapters.conversation import Conversation, is_in_terminal
from rekindle.api.client import DaemonClient
from rekindle.cli.commands.ps import sessions
from rekindle.cli.live import LiveView
from rekindle.cli.options import complete_sessions, json_option, places, print_json
from rekindle.cli.terminals import enter
from rekindle.cli.watching import watch
from rekindle.ports.errors import RekindleError, UsageError


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--follow", "-f", is_flag=True, help="Go on as the agent speaks, until Ctrl-C.")
@click.option("--jsonl", is_flag=True, help="Print one JSON object per entry.")
@json_option
def logs(session: str, follow: bool, jsonl: bool, as_json: bool) -> None:
    """The conversation of SESSION, over all its attempts."""
    name = named(session)
    conversation = Conversation(os.path.join(places().sessions, name))
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
@click.argument("session", shell_complete=complete_sessions)
def attach(session: str) -> int:
    """Come back to SESSION: see what its agent does and talk to it, a line at a time. Ctrl-C leaves it.

    An agent that is used in a terminal is shown in it; Ctrl-b d leaves it.
    """
    name = named(session)
    if is_in_terminal(os.path.join(places().sessions, name)):
        return enter(places(), name)
    if not sys.stdin.isatty():
        return watch(DaemonClient(places()), name, put_to_sleep=False)
    conversation = Conversation(os.path.join(places().sessions, name))
    view = LiveView()
    stop = threading.Event()

    def show() -> None:
        while not stop.is_set():
            view.show(conversation.poll())
            stop.wait(0.1)

    printer = threading.Thread(target=show, daemon=True)
    printer.start()
    try:
        for line in sys.stdin:
            if line.strip():
                _say(name, line.strip())
    except KeyboardInterrupt:
        click.echo(f"\nIt goes on without you: rekindle attach {name}")
    finally:
        stop.set()
        printer.join()
    return 0


def named(prefix: str) -> str:
    """The session that an id, or the beginning of one, means."""
    known = [row["id"] for row in sessions(places()) if row["id"].startswith(prefix)] if prefix else []
    if prefix in known or len(known) == 1:
        return prefix if prefix in known else str(known[0])
    if not known:
        raise UsageError(f"there is no session {prefix!r}", "`rekindle ps --all` lists them", code="no_such_session")
    raise UsageError(f"{prefix!r} can mean: {', '.join(known[:5])}", "give more of the id", code="no_such_session")


def _say(session: str, text: str) -> None:
    client = DaemonClient(places())
    try:
        told = client.ask("show", session=session)
        if told["asks"] is not None and text in ("allow", "deny", *(one[0] for one in told["asks"]["options"])):
            client.ask("answer", session=session, choice=text, by=f"pid {os.getpid()}")
        else:
            client.ask("send", session=session, text=text)
    except RekindleError as error:
        click.echo(f"rekindle: {error.message}", err=True)
    finally:
        client.close()
