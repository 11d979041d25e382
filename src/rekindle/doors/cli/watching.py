"""Watching a session from a terminal: what it does, its questions, and what becomes of it when the watcher leaves."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli import questions
from rekindle.doors.cli.amounts import used
from rekindle.doors.cli.live import LiveView, View, follow_until
from rekindle.doors.cli.measure import duration
from rekindle.doors.cli.options import who
from rekindle.doors.cli.outcome import INTERRUPTED
from rekindle.doors.cli.receipts import Receipts
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.conversations import FollowedConversation
from rekindle.ports.daemon import Daemon


def read_so_far(session: str) -> FollowedConversation:
    """A session's conversation with everything read that is there by now: what follows is news."""
    conversation = use_cases().conversations().follow(session)
    conversation.poll()
    return conversation


def watch(
    client: Daemon,
    session: str,
    *,
    put_to_sleep: bool,
    known: dict[str, Any] | None = None,
    conversation: FollowedConversation | None = None,
) -> int:
    """Show a session until it comes to rest; Ctrl-C leaves it running or stops it.

    An agent that comes back meanwhile shows its receipt; `known` is the session as it was shown already.
    `conversation` is what the watcher has read of it; by default nothing.
    """
    view = _view_of(session)
    began = time.monotonic()
    receipts = Receipts(known)

    def rested() -> dict[str, Any] | None:
        told = client.ask("wait", session=session, seconds=0.2)
        if news := receipts.news(told):
            view.rest()
            print("\n".join(news), flush=True)
        if not told["rested"]:
            view.status(told, time.monotonic() - began, time.time())
        return told if told["rested"] else None

    if conversation is None:
        conversation = use_cases().conversations().follow(session)
    try:
        while True:
            told = follow_until(conversation, rested, view)
            if told["asks"] is None:
                break
            _put_question(told["asks"])
    except click.Abort:  # at a question: nobody is left to be asked anything
        print(f"\nStill running, and waiting for an answer. Reattach: rekindle attach {session}", file=sys.stderr)
        return INTERRUPTED
    except KeyboardInterrupt:
        view.rest()
        return _interrupted(client, session)
    finally:
        view.rest()  # whatever happens, the terminal is left in order
    if sys.stderr.isatty():
        usage = told["usage"]
        amounts = [duration(time.monotonic() - began), *used(usage["tokens"], usage["cost"])]
        print(f"  {' · '.join(amounts)}", file=sys.stderr)
    if told["status"] in ("interrupted", "failed"):
        print(f"rekindle: {told['status']}: {printable(told['why'])}", file=sys.stderr)
        print(f"Bring it back with: rekindle resume {session}", file=sys.stderr)
        return 1
    if told["message"]:
        print(f"rekindle: {printable(told['message'])}", file=sys.stderr)
    if told["state"] == "FAILED" or told["message"]:
        return 1
    if put_to_sleep:
        client.ask("stop", session=session, to="asleep", by=who())
    return 0


def _view_of(session: str) -> View:
    """A view for whoever is there: rendered on a terminal that can go back, else plain lines."""
    if sys.stdout.isatty():
        from rich.console import Console

        console = Console()
        if not console.is_dumb_terminal:
            from rekindle.doors.cli.rendered import RenderedView

            return RenderedView(session, console)
    return LiveView(session)


def _put_question(question: dict[str, Any]) -> None:
    """Let a person answer this question. Where somebody else was first that is said, and the next look tells more."""
    if not questions.can_ask():
        raise questions.unasked(question)
    too_late = use_cases().answering().answer_in_time(question["id"], questions.ask(question), who())
    if too_late is not None:
        print(f"rekindle: {printable(too_late)}", file=sys.stderr)


def _interrupted(client: Daemon, session: str) -> int:
    if sys.stdin.isatty():
        click.echo("\n  l. leave it working   s. stop it")
        if _choice() == "s":
            client.close()
            client.ask("stop", session=session, to="cancelled", by=who())
            print(f"{session}: stopped.", file=sys.stderr)
            return INTERRUPTED
    print(f"Still running. Reattach: rekindle attach {session}", file=sys.stderr)
    return INTERRUPTED


def _choice() -> str:
    """What becomes of the agent. A second Ctrl-C leaves it working, as Enter does."""
    try:
        return str(click.prompt("Your choice", type=click.Choice(["l", "s"]), default="l"))
    except click.Abort:
        click.echo()
        return "l"
