"""`rekindle inbox` and `rekindle answer`: the agents' questions, and your answers."""

from __future__ import annotations

import time

import click
from click.shell_completion import CompletionItem

from rekindle.app import parking
from rekindle.core.session.asking import MARK
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import questions
from rekindle.doors.cli.amounts import clock_time
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import json_option, print_json, who
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError


@click.command()
@json_option
def inbox(as_json: bool) -> None:
    """List the open questions, oldest first: what agents ask, and what rekindle asks about them.

    Behind them: sessions that cannot go on without you, each with the reason and the next step, and those that wait.
    """
    found = use_cases().answering().open()
    rows = use_cases().sessions().rows()
    waiting = [one for one in rows if one["waits_until"] is not None]
    parked = parking.parked(rows, found, time.time())
    if as_json:
        until = [{"session": one["id"], "until": one["waits_until"], "why": one["why"]} for one in waiting]
        cannot = [{"session": one["id"], "why": one["why"], "next": one["next"]} for one in parked]
        print_json({"questions": found, "parked": cannot, "waiting": until})
        return
    if not found:
        print("No open questions.")
    for one in found:
        answer_with = f"  {questions.whose(one)}; " + next_step(f"rekindle answer {one['id']}")
        print_lines([*questions.lines(one), answer_with, ""])
    for one in parked:
        print_lines([f"{one['id']} cannot go on: {printable(one['why'])}", f"  {next_step(one['next'])}"])
    for one in waiting:
        why = f" ({printable(one['why'])})" if one["why"] else ""
        print_lines([f"{one['id']} goes on by itself at {clock_time(one['waits_until'], time.time())}{why}"])


def _complete_question(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        found = use_cases().answering().open(start=False)
    except RekindleError:
        return []
    return [
        CompletionItem(one["id"], help=printable(one["title"])) for one in found if one["id"].startswith(incomplete)
    ]


def _complete_option(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    given = ctx.params.get("question") or MARK
    try:
        asked = use_cases().answering().open(start=False)
    except RekindleError:
        return []
    found = [one for one in asked if (one["id" if given.startswith(MARK) else "session"] or "").startswith(given)]
    options = found[0]["options"] if len(found) == 1 else []
    return [
        CompletionItem(one["id"], help=printable(one["label"])) for one in options if one["id"].startswith(incomplete)
    ]


@click.command()
@click.argument("question", shell_complete=_complete_question)
@click.argument("option", required=False, shell_complete=_complete_option)
@click.option("--text", default="", metavar="TEXT", help="What else the agent is told.")
@json_option
def answer(question: str, option: str | None, text: str, as_json: bool) -> None:
    """Answer QUESTION with OPTION: allow, deny, or the id or number of an option that it offers.

    QUESTION is a question's id, or the beginning of one (`rekindle inbox` lists them). With a session's id, or without
    OPTION, the question is shown on the terminal first; without a terminal, the exit status is 3.
    """
    answering = use_cases().answering()
    if not question.startswith(MARK) or option is None:
        asked = answering.meant(question)
        if not questions.can_ask():
            raise questions.unasked(asked)
        question, option = asked["id"], questions.ask(asked, option)
    elif option.isascii() and option.isdigit():
        question, option = answering.numbered(question, option)
    told = answering.answer(question, option, who(), text)
    if as_json:
        print_json(told)
    elif told.get("told"):
        print_lines(told["told"])
        print(f"The question is still open: rekindle answer {told['question']}")
    else:
        print(f"{told['question']}: answered with {told['option']}.")
