"""What an agent does, as it does it: for a person on a terminal in colour, elsewhere in plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import click

from rekindle.agents.base.conversation import ConversationEntry
from rekindle.core.terminal_text import printable
from rekindle.ports.conversations import FollowedConversation

_PAUSE = 0.1
_PREFIX = {
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
    """Prints entries; words that an agent streams stay on one line."""

    def __init__(self) -> None:
        self._streaming: str | None = None

    def show(self, entries: list[ConversationEntry]) -> None:
        """Print some more."""
        for entry in entries:
            if entry.kind in ("said", "thought"):
                self._stream(entry)
            else:
                self.rest()
                mark, colour = _PREFIX[entry.kind]
                said = "finished" if entry.kind == "end" and entry.text == "end_turn" else entry.text
                text = "\n      ".join(printable(line) for line in said.splitlines()[:20]) or ""
                click.echo(f"{click.style(mark, fg=colour)} {text}".rstrip())

    def rest(self) -> None:
        """End a line that is being streamed."""
        if self._streaming is not None:
            click.echo()
            self._streaming = None

    def _stream(self, entry: ConversationEntry) -> None:
        if self._streaming not in (None, entry.kind):
            self.rest()
        self._streaming = entry.kind
        text = "\n".join(printable(line) for line in entry.text.split("\n"))
        click.echo(click.style(text, fg=_PREFIX[entry.kind][1]), nl=False)
        sys.stdout.flush()


def follow_until(
    conversation: FollowedConversation, done: Callable[[], dict[str, Any] | None], view: LiveView
) -> dict[str, Any]:
    """Show what is new in a conversation until `done` gives an answer."""
    while True:
        answer = done()
        view.show(conversation.poll())
        if answer is not None:
            view.rest()
            return answer
        time.sleep(_PAUSE)
