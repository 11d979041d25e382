"""`rekindle inbox` and `rekindle answer`: what agents ask, and what they are told."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from rekindle.core.session.asking import MARK
from rekindle.doors.cli import questions
from rekindle.doors.cli.options import json_option, print_json, who
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError


@click.command()
@json_option
def inbox(as_json: bool) -> None:
    """List the open questions of all agents, oldest first."""
    found = use_cases().answering().open()
    if as_json:
        print_json({"questions": found})
        return
    if not found:
        print("No open questions.")
    for one in found:
        feature = f", feature {one['feature']}" if one["feature"] else ""
        for line in questions.lines(one):
            print(line)
        print(f"  session {one['session']}{feature}; answer with: rekindle answer {one['id']} OPTION\n")


def _complete_question(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        found = use_cases().answering().open(start=False)
    except RekindleError:
        return []
    return [CompletionItem(one["id"], help=one["title"]) for one in found if one["id"].startswith(incomplete)]


def _complete_option(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        asked = use_cases().answering().open(start=False)
        found = [one for one in asked if one["id"].startswith(ctx.params.get("question") or MARK)]
    except RekindleError:
        return []
    options = found[0]["options"] if len(found) == 1 else []
    return [CompletionItem(one["id"], help=one["label"]) for one in options if one["id"].startswith(incomplete)]


@click.command()
@click.argument("question", shell_complete=_complete_question)
@click.argument("option", required=False, shell_complete=_complete_option)
@json_option
def answer(question: str, option: str | None, as_json: bool) -> None:
    """Answer QUESTION with OPTION: allow, deny, or the id or number of an option that it offers.

    QUESTION is a question's id, or the beginning of one (`rekindle inbox` lists them). With a session's id, or
    without OPTION, the question is shown on the terminal first; where there is none, the exit status is 3.
    """
    answering = use_cases().answering()
    if not question.startswith(MARK) or option is None:
        asked = answering.meant(question)
        if not questions.can_ask():
            raise questions.unasked(asked)
        question, option = asked["id"], questions.ask(asked, option)
    elif option.isascii() and option.isdigit():
        question, option = answering.numbered(question, option)
    told = answering.answer(question, option, who())
    print_json(told) if as_json else print(f"{told['question']}: answered with {told['option']}.")
