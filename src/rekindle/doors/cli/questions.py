"""A question on a terminal: all of it is shown, with its id, before an option is accepted."""

from __future__ import annotations

import sys
from typing import Any

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import who
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import QuestionError, RekindleError, UsageError

#: The daemon's word that an answer came too late for the question that it names.
_TOO_LATE = ("answered_already", "question_expired", "no_such_question")


def lines(question: dict[str, Any]) -> list[str]:
    """A question in full, for a person. Nothing in it can steer the terminal."""
    title = [printable(line) for line in question["title"].splitlines()] or ["(without a title)"]
    detail = [f"    {printable(line)}" for line in question["detail"].splitlines()]
    options = [
        f"  {number}. {printable(one['label'] or one['id'])} [{printable(one['id'])}]"
        for number, one in enumerate(question["options"], start=1)
    ]
    return [f"Question {question['id']} ({printable(question['tool'])}): {title[0]}", *title[1:], *detail, *options]


def show(question: dict[str, Any]) -> None:
    """Print it where people look."""
    for line in lines(question):
        click.echo(line, err=True)


def unasked(question: dict[str, Any]) -> QuestionError:
    """What is said where nobody can be asked."""
    offered = ", ".join(one["id"] for one in question["options"]) or "none"
    return QuestionError(
        f"question {question['id']} of session {question['session']}: {question['title']} (options: {offered})",
        f"answer with: rekindle answer {question['id']} OPTION",
        details={"question": question},
    )


def can_ask() -> bool:
    """Whether somebody sees what is asked, and can type."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: dict[str, Any], proposed: str | None = None) -> str:
    """Show a question and let a person choose; returns the option's id. `proposed` is chosen by Enter."""
    if not question["options"]:
        raise UsageError(
            f"question {question['id']} offers no options", f"end its turn: rekindle cancel {question['session']}"
        )
    show(question)
    numbers = [str(number) for number in range(1, len(question["options"]) + 1)]
    wanted = option_typed(question, proposed) if proposed is not None else None
    default = next((number for number in numbers if option_typed(question, number) == wanted), None)
    typed = click.prompt("Your choice", type=click.Choice(numbers), default=default, err=True)
    return str(question["options"][int(typed) - 1]["id"])


def option_typed(question: dict[str, Any], typed: str) -> str | None:
    """The option that a typed line means: its number, its id, or allow / deny. None: it is not an answer."""
    options = question["options"]
    if typed.isascii() and typed.isdigit():
        return str(options[int(typed) - 1]["id"]) if 0 < int(typed) <= len(options) else None
    kind = {"allow": "allow_once", "deny": "reject_once"}.get(typed)
    return next((str(one["id"]) for one in options if (one["kind"] == kind if kind else one["id"] == typed)), None)


def answer(client: Daemon, question: str, option: str) -> str | None:
    """Give an answer to this question and no other. Returns why it came too late, if it did."""
    try:
        client.ask("answer", question=question, option=option, by=who())
    except RekindleError as error:
        if error.code not in _TOO_LATE:
            raise
        return error.message
    return None
