"""A person at a session, on a terminal that cannot move its cursor: the agent's output and the input as plain lines.

On other terminals the input line has a place of its own; see `rekindle.doors.cli.talking`.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from typing import Any

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli import questions
from rekindle.doors.cli.leaving import left_behind
from rekindle.doors.cli.live import LiveView
from rekindle.doors.cli.options import daemon, who
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.receipts import print_woken
from rekindle.doors.cli.typed import QuestionAtHand, TooSoon, TypedAnswer, TypedPrompt, UnusedLine
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError

_PAUSE = 0.1
_LOOK_SECONDS = 0.3


class Attached:
    """One terminal at one session."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._conversation = use_cases().conversations().follow(session)
        self._view = LiveView(session)
        self._client = daemon()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._has_sent = False
        self._at_hand = QuestionAtHand(session)
        self._told: dict[str, Any] | None = None

    def converse(self) -> int:
        """Show and listen until the person leaves."""
        self._look(start=True)
        printer = threading.Thread(target=self._print, daemon=True)
        printer.start()
        try:
            for line in sys.stdin:
                if line.strip():
                    self._take(line.strip())
        except KeyboardInterrupt:
            click.echo()
        finally:
            self._stop.set()
            printer.join()
        print_lines(left_behind(self._session, self._told, time.time()))
        return 0

    def _print(self) -> None:
        looked = time.monotonic()
        while not self._stop.is_set():
            self._view.show(self._conversation.poll())
            if time.monotonic() - looked >= _LOOK_SECONDS:
                looked = time.monotonic()
                self._look(start=self._has_sent)
            self._stop.wait(_PAUSE)

    def _look(self, *, start: bool) -> None:
        """Look up the open question, and show it if it is not on the screen yet."""
        try:
            told = self._client.ask("wait", start=start, session=self._session, seconds=0)
        except RekindleError:
            return  # no daemon serves the session at the moment: retry
        with self._lock:
            self._told = told
            self._view.status(told, 0.0, time.time())
            if not self._at_hand.see(told["question"], time.monotonic()):
                return
            self._view.show(self._conversation.poll())
            self._view.rest()
            questions.show(told["question"])
            click.echo("Type the number of your answer.", err=True)

    def _take(self, line: str) -> None:
        with self._lock:
            meant = self._at_hand.take(line, time.monotonic())
        try:
            match meant:
                case UnusedLine(why):
                    click.echo(f"rekindle: {why}", err=True)
                case TooSoon():
                    click.echo("rekindle: the question has only just come; your line was not used", err=True)
                case TypedAnswer(question, option):
                    too_late = use_cases().answering().answer_in_time(question["id"], option, who())
                    if too_late is not None:
                        click.echo(f"rekindle: {printable(too_late)}", err=True)
                case TypedPrompt(text):
                    self._send(text)
        except RekindleError as error:
            self._at_hand.fail()
            click.echo(f"rekindle: {printable(error.message)}", err=True)

    def _send(self, text: str) -> None:
        self._has_sent = True  # from now on the session needs a daemon: one that dies is replaced
        client = daemon()
        try:
            told = client.ask("send", session=self._session, text=text, prompt_id=secrets.token_hex(8))
        finally:
            client.close()
        if told["woken"]:
            print_woken(told)
