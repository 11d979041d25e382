"""What an agent does, as it does it: for a person on a terminal in colour, elsewhere in plain lines."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

import click

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.quantities import duration
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.amounts import clock_time, used
from rekindle.doors.cli.measure import counted
from rekindle.ports.conversations import FollowedConversation

#: How often to ask for a session's state; after the end of a turn, how long to wait for the answer.
_ASK_SECONDS, _END_SECONDS = 0.1, 0.2
#: How long output is gathered before it is shown.
_GATHER_SECONDS = 0.01
#: The most lines of an entry while an agent is watched; `rekindle logs` shows all of it.
_MOST_LINES = 20
PREFIX = {
    "prompt": ("you", "cyan"),
    "told": ("rekindle", "blue"),
    "said": ("", None),
    "thought": ("", "bright_black"),
    "tool": ("  ▸", "yellow"),
    "tool_done": ("  ◂", "bright_black"),
    "plan": ("  plan", "magenta"),
    "question": ("  asks:", "bright_yellow"),
    "end": ("  turn", "bright_black"),
    "error": ("  error:", "red"),
    "attempt": ("──", "bright_black"),
    "note": ("  note:", "bright_black"),
}


class LiveView:
    """Prints entries; streamed output stays on one line.

    `session`: whose entries these are, if long ones should be cut; the mark says how to see the rest.
    """

    def __init__(self, session: str | None = None) -> None:
        self._session = session
        self._streaming: str | None = None
        self._is_at_start = True
        self._waits_until: float | None = None

    def show(self, entries: list[ConversationEntry]) -> None:
        """Print some more."""
        for entry in entries:
            if entry.kind in ("said", "thought"):
                self._stream(entry)
            else:
                self.rest()
                mark, colour = PREFIX[entry.kind]
                said = "finished" if entry.kind == "end" and entry.text == "end_turn" else entry.text
                text = "\n      ".join(shown_lines(said, self._session))
                click.echo(f"{coloured(mark, colour)} {text}".rstrip())

    def status(self, told: dict[str, Any], _seconds: float, now: float) -> None:
        """Say once what a limit waits for; a working agent shows by its output."""
        if told["waits_until"] not in (None, self._waits_until):
            self.rest()
            click.echo(f"{coloured('  note:', 'bright_black')} {waiting_line(told, now)}")
        self._waits_until = told["waits_until"]

    def rest(self) -> None:
        """End a line that is being streamed."""
        if self._streaming is not None:
            if not self._is_at_start:
                click.echo()
            self._streaming = None

    def _stream(self, entry: ConversationEntry) -> None:
        if self._streaming not in (None, entry.kind):
            self.rest()
        self._streaming = entry.kind
        self._is_at_start = entry.text.endswith("\n") if entry.text else self._is_at_start
        text = "\n".join(printable(line) for line in entry.text.split("\n"))
        click.echo(coloured(text, PREFIX[entry.kind][1]), nl=False)
        sys.stdout.flush()


class View(Protocol):
    """A place that shows a conversation as it happens."""

    def show(self, entries: list[ConversationEntry]) -> None:
        """Print some more."""
        ...

    def status(self, told: dict[str, Any], seconds: float, now: float) -> None:
        """Show the session's state, so many seconds after watching began."""
        ...

    def rest(self) -> None:
        """Restore the terminal for whatever is printed next."""
        ...


def working_line(told: dict[str, Any], seconds: float, now: float) -> str:
    """What is happening, in one line: `working · 12 s · 262 tokens · $0.01`, or what is waited for."""
    if told["waits_until"] is not None:
        return waiting_line(told, now)
    usage = told["usage"]
    return " · ".join([told["status"], duration(seconds), *used(usage["tokens"], usage["cost"])])


def state_line(told: dict[str, Any], now: float) -> str:
    """The same for a person who stays: `working`, with the time of this turn, or the session's state at rest."""
    since = told["turn_since"]
    if not told["rested"] and since is not None:
        line = working_line(told, max(now - since, 0.0), now)
    elif told["waits_until"] is not None:
        line = waiting_line(told, now)
    else:
        line = " · ".join([told["status"], *used(told["usage"]["tokens"], told["usage"]["cost"])])
    queued = told["queued"]
    return f"{line} · {counted(queued, 'prompt')} queued" if queued and told["turn_since"] is not None else line


def waiting_line(told: dict[str, Any], now: float) -> str:
    """What a limit makes a session wait for, and until when."""
    left = duration(max(told["waits_until"] - now, 0.0))
    why = f": {printable(told['why'])}" if told["why"] else ""
    return f"waiting until {clock_time(told['waits_until'], now)} (in {left}){why}"


def shown_lines(text: str, session: str | None) -> list[str]:
    """The lines of an entry. Of a long one the beginning, with a mark: how much is left out, where it is."""
    lines = [printable(line) for line in text.splitlines()]
    if session is None or len(lines) <= _MOST_LINES:
        return lines
    left = len(lines) - _MOST_LINES + 1
    return [*lines[: _MOST_LINES - 1], f"… {left} more lines: rekindle logs {session}"]


def coloured(text: str, colour: str | None) -> str:
    """Text in a colour, if the user wants colours."""
    return text if os.environ.get("NO_COLOR") else click.style(text, fg=colour)


def follow_until(
    conversation: FollowedConversation, done: Callable[[float], dict[str, Any] | None], view: View
) -> dict[str, Any]:
    """Show what is new in a conversation until `done` gives an answer. `done` is told how long it may wait."""
    asked, patience = 0.0, _END_SECONDS
    while True:
        answer = None
        if patience or time.monotonic() - asked >= _ASK_SECONDS:
            answer, asked = done(patience), time.monotonic()
        found = conversation.poll()
        view.show(found)
        if answer is not None:
            view.rest()
            return answer
        patience = _END_SECONDS if any(entry.kind in ("end", "question") for entry in found) else 0.0
        if not patience:
            conversation.wait(_ASK_SECONDS)
            time.sleep(_GATHER_SECONDS)
