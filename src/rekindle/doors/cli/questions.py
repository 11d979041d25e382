"""A question on a terminal: all of it is shown, with its id, before an option is accepted."""

from __future__ import annotations

import sys
from typing import Any

import click

from rekindle.app.answering import option_typed
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.printing import print_lines
from rekindle.ports.errors import QuestionError, UsageError

#: Kinds whose names say nothing to a person who has not read how a resume is decided. The page says the same.
_KINDS = {
    "dead": "agent died",
    "stall": "no progress",
    "limit": "limit reached",
    "context": "context full",
    "case_b": "issues",
    "case_c": "no checkpoint",
    "skill_resume": "skill session",
    "skill_gate": "gate of a skill session",
    "skill_approval": "approval in a skill session",
}
#: What an agent wants to do, by the kinds of tools that agents report.
_TOOLS = {
    "execute": "run a command",
    "edit": "change a file",
    "read": "read a file",
    "delete": "delete a file",
    "move": "move a file",
    "search": "search",
    "fetch": "open an address",
}


def lines(question: dict[str, Any]) -> list[str]:
    """A question in full, for a person. Nothing in it can steer the terminal."""
    title = [printable(line) for line in question["title"].splitlines()] or ["(without a title)"]
    detail = [f"    {printable(line)}" for line in question["detail"].splitlines()]
    options = [
        f"  {number}. {printable(one['label'] or one['id'])} [{printable(one['id'])}]"
        + (" (recommended)" if one["id"] == question["recommended"] else "")
        for number, one in enumerate(question["options"], start=1)
    ]
    kind = _KINDS.get(question["kind"], question["kind"])
    what = kind if question["tool"] in ("", "other") else _TOOLS.get(question["tool"], question["tool"])
    options.append(f"  Until you answer: {printable(question['otherwise'])}.")
    return [
        f"Question {question['id']} ({printable(what)}): {title[0]}",
        *(f"    {one}" for one in title[1:]),
        *detail,
        *options,
    ]


def whose(question: dict[str, Any]) -> str:
    """What a question is about: a session, a feature in a repository, or all sessions."""
    named = [f"session {question['session']}"] if question["session"] else []
    named += [f"feature {printable(question['feature'])}"] if question["feature"] else []
    where, host = question.get("repository"), question.get("host")
    named += [f"in {printable(where)}"] if where else []
    return ", ".join([*(named or ["all sessions"]), *([f"on host {printable(host)}"] if host else [])])


def show(question: dict[str, Any]) -> None:
    """Print it where a person sees it."""
    print_lines(lines(question), err=True)


def unasked(question: dict[str, Any]) -> QuestionError:
    """The message if nobody can be asked."""
    offered = ", ".join(one["id"] for one in question["options"]) or "none"
    return QuestionError(
        f"question {question['id']} of {whose(question)}: {question['title']} (options: {offered})",
        f"rekindle answer {question['id']} {question['recommended'] or 'OPTION'}",
        details={"question": question},
    )


def can_ask() -> bool:
    """Whether somebody sees the question and can type."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(question: dict[str, Any], proposed: str | None = None) -> str:
    """Show a question and let a person choose; returns the option's id. Enter chooses `proposed`."""
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
