"""A person at a session: what its agent does is shown as it happens, and each line typed is a prompt or an answer.

A line is an answer only to the question that was on the screen when it was typed. Nothing typed while a question is
open becomes a prompt.
"""

from __future__ import annotations

import secrets
import sys
import threading
import time
from typing import Any

import click

from rekindle.app.answering import option_typed
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import questions
from rekindle.doors.cli.live import LiveView
from rekindle.doors.cli.options import daemon, who
from rekindle.doors.cli.receipts import print_woken
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
        self._asked = use_cases().answering()
        self._client = daemon()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._has_sent = False
        #: the question that was shown last and that nobody here has reacted to; whether it is still open
        self._shown: dict[str, Any] | None = None
        self._is_open = False
        #: it took the place of another one that nobody here has reacted to: what is typed may mean that one
        self._replaced = False

    def converse(self) -> int:
        """Show and listen until the person leaves."""
        self._look(start=True)
        printer = threading.Thread(target=self._print, daemon=True)
        printer.start()
        try:
            for line in sys.stdin:
                if line.strip():
                    self._take(line.strip())
            self._leave()
        except KeyboardInterrupt:
            click.echo()
            self._leave()
        finally:
            self._stop.set()
            printer.join()
        return 0

    def _leave(self) -> None:
        click.echo(f"Still running. Reattach: rekindle attach {self._session}")

    def _print(self) -> None:
        looked = time.monotonic()
        while not self._stop.is_set():
            self._view.show(self._conversation.poll())
            if time.monotonic() - looked >= _LOOK_SECONDS:
                looked = time.monotonic()
                self._look(start=self._has_sent)
            self._stop.wait(_PAUSE)

    def _look(self, *, start: bool) -> None:
        """See what is asked now, and show it if it is not on the screen yet."""
        try:
            found = self._asked.open(start=start, session=self._session)
            told = self._client.ask("wait", start=start, session=self._session, seconds=0)
        except RekindleError:
            return  # nobody serves the session at the moment: it is asked again
        with self._lock:
            self._view.status(told, 0.0, time.time())
            now = found[0] if found else None
            before, self._is_open = self._shown, now is not None
            if now is None or (before is not None and before["id"] == now["id"]):
                return
            self._replaced = before is not None
            self._shown = now
            self._view.show(self._conversation.poll())
            self._view.rest()
            questions.show(now)
            click.echo("Type the number of your answer.", err=True)

    def _take(self, line: str) -> None:
        with self._lock:
            question, is_open, replaced = self._shown, self._is_open, self._replaced
            option = option_typed(question, line) if question is not None else None
            if option is not None or not is_open:
                self._shown, self._replaced = None, False
        client = daemon()
        try:
            if question is not None and option is not None:
                self._answer(question, option, replaced=replaced)
            elif question is not None and is_open:
                hint = f"answer question {question['id']} first, or use: rekindle send {self._session} TEXT"
                click.echo(f"rekindle: not sent: the agent waits for an answer — {hint}", err=True)
            else:
                self._has_sent = True  # from now on somebody has to serve the session: a daemon that dies is replaced
                told = client.ask("send", session=self._session, text=line, prompt_id=secrets.token_hex(8))
                if told["woken"]:
                    print_woken(told)
        except RekindleError as error:
            click.echo(f"rekindle: {printable(error.message)}", err=True)
        finally:
            client.close()

    def _answer(self, question: dict[str, Any], option: str, *, replaced: bool) -> None:
        if replaced:
            told: str | None = "the question before this one was answered elsewhere, so your line was not used"
        else:
            told = use_cases().answering().answer_in_time(question["id"], option, who())
        if told is not None:
            click.echo(f"rekindle: {printable(told)}", err=True)
