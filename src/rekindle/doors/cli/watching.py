"""Watching a session from a terminal: what it does, its questions, and what happens to it when the watcher leaves."""

from __future__ import annotations

import signal
import sys
import time
from typing import Any

import click

from rekindle.core.quantities import duration
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import questions
from rekindle.doors.cli.amounts import used
from rekindle.doors.cli.attached import Attached
from rekindle.doors.cli.leaving import left_behind
from rekindle.doors.cli.live import LiveView, View, follow_until
from rekindle.doors.cli.options import daemon, who
from rekindle.doors.cli.outcome import INTERRUPTED, report
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.receipts import Receipts
from rekindle.doors.cli.talking import Conversing, can_talk
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.conversations import FollowedConversation
from rekindle.ports.daemon import Daemon


def read_so_far(session: str) -> FollowedConversation:
    """A session's conversation, read up to now: whatever follows is new."""
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
    """Show a session until it is at rest; Ctrl-C leaves it running, as everywhere.

    An agent that comes back meanwhile shows its receipt; `known` is the session as already shown.
    `conversation` is what the watcher has read of it; by default nothing.
    """
    began = time.monotonic()
    if conversation is None:
        conversation = use_cases().conversations().follow(session)
    if can_talk():
        end = Conversing(session, conversation, until_rest=True, serve=True, known=known).hold()
        if end.how != "over" or end.told is None:
            return _left(session, end.told)
        return _ended(client, end.told, time.monotonic() - began, put_to_sleep=put_to_sleep)
    receipts, view = Receipts(known), _view_of(session)
    seen: list[dict[str, Any]] = []

    def rested(seconds: float) -> dict[str, Any] | None:
        told = client.ask("wait", session=session, seconds=seconds)
        seen[:] = [told]
        if news := receipts.news(told):
            view.rest()
            print("\n".join(news), flush=True)
        if not told["rested"]:
            view.status(told, time.monotonic() - began, time.time())
        return told if told["rested"] or (told["question"] is not None and questions.can_ask()) else None

    try:
        while True:
            told = follow_until(conversation, rested, view)
            if told["asks"] is None and (told["question"] is None or not questions.can_ask()):
                break
            _put_question(told["question"])
    except click.Abort:  # at a question: nobody is left to ask
        print(file=sys.stderr)
        return _left(session, seen[0])
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C: the person is told what goes on first
        view.rest()
        print(file=sys.stderr)
        return _left(session, seen[0] if seen else None)
    finally:
        view.rest()  # whatever happens, the terminal is restored
    return _ended(client, told, time.monotonic() - began, put_to_sleep=put_to_sleep)


def attach(session: str) -> int:
    """A person at a session, until the person leaves."""
    if not sys.stdin.isatty():
        client = daemon()
        return watch(client, session, put_to_sleep=False, known=client.ask("show", session=session))
    if not can_talk():
        return Attached(session).converse()
    known = daemon().ask("show", session=session)
    conversation = use_cases().conversations().follow(session)
    end = Conversing(session, conversation, until_rest=False, serve=False, known=known).hold()
    print_lines(left_behind(session, end.told, time.time()))
    return 0


def _ended(client: Daemon, told: dict[str, Any], seconds: float, *, put_to_sleep: bool) -> int:
    """Say how a session came to rest; returns the exit status."""
    session = told["id"]
    if sys.stderr.isatty():
        usage = told["usage"]
        amounts = [duration(seconds), *used(usage["tokens"], usage["cost"])]
        print(f"  {' · '.join(amounts)}", file=sys.stderr)
    if told["status"] in ("interrupted", "failed"):
        asked = f"; or answer: rekindle answer {told['question']['id']}" if told["question"] is not None else ""
        why = f"{session} is {told['status']}: {told['why']}"
        return report(1, "", why, f"{told['next']}{asked}", as_json=False)
    if told["message"]:
        print(f"rekindle: {printable(told['message'])}", file=sys.stderr)
    if told["state"] == "FAILED" or told["message"]:
        return 1
    if put_to_sleep:
        client.ask("stop", session=session, to="asleep", by=who())
    return 0


def _view_of(session: str) -> View:
    """The view for this terminal: rendered if it can move its cursor, else plain lines."""
    if sys.stdout.isatty():
        from rich.console import Console

        console = Console()
        if not console.is_dumb_terminal:
            from rekindle.doors.cli.rendered import RenderedView

            return RenderedView(session, console)
    return LiveView(session)


def _put_question(question: dict[str, Any]) -> None:
    """Let a person answer this question. If somebody else was first, say so; the next look shows more."""
    if not questions.can_ask():
        raise questions.unasked(question)
    too_late = use_cases().answering().answer_in_time(question["id"], questions.ask(question), who())
    if too_late is not None:
        print(f"rekindle: {printable(too_late)}", file=sys.stderr)


def _left(session: str, told: dict[str, Any] | None) -> int:
    print_lines(left_behind(session, told, time.time()), err=True)
    return INTERRUPTED
