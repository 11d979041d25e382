"""`rekindle inbox` and `rekindle answer`: what agents ask, and what they are told."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem

from rekindle.core.session.asking import MARK
from rekindle.doors.cli import questions
from rekindle.doors.cli.options import daemon, json_option, print_json, who
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import NoSuchQuestion, RekindleError, UsageError


@click.command()
@json_option
def inbox(as_json: bool) -> None:
    """List the open questions of all agents, oldest first."""
    found = daemon().ask("questions")["questions"]
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


def _open(start: bool = True) -> list[dict[str, Any]]:
    return list(daemon().ask("questions", start=start)["questions"])


def _complete_question(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        found = _open(start=False)
    except RekindleError:
        return []
    return [CompletionItem(one["id"], help=one["title"]) for one in found if one["id"].startswith(incomplete)]


def _complete_option(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        found = [one for one in _open(start=False) if one["id"].startswith(ctx.params.get("question") or MARK)]
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
    client = daemon()
    if not question.startswith(MARK) or option is None:
        asked = _named(client, question)
        if not questions.can_ask():
            raise questions.unasked(asked)
        question, option = asked["id"], questions.ask(asked, option)
    elif option.isascii() and option.isdigit():
        question, option = _numbered(client, question, option)
    told = client.ask("answer", question=question, option=option, by=who())
    print_json(told) if as_json else print(f"{told['question']}: answered with {told['option']}.")


def _numbered(client: Daemon, given: str, number: str) -> tuple[str, str]:
    """A question's id, and the id of the option that it shows under a number. Ids that are numbers come first."""
    found = [one for one in client.ask("questions")["questions"] if one["id"].startswith(given)]
    if len(found) != 1 or any(one["id"].isdigit() for one in found[0]["options"]):
        return given, number
    return found[0]["id"], questions.option_typed(found[0], number) or number


def _named(client: Daemon, given: str) -> dict[str, Any]:
    """The open question that is meant by its id, or by the session that asks it: the oldest one."""
    if given.startswith(MARK):
        found = [one for one in client.ask("questions")["questions"] if one["id"].startswith(given)]
        if len(found) != 1:
            problem = f"can mean {len(found)} open questions" if found else "is not an open question"
            raise NoSuchQuestion(f"{given!r} {problem}", "`rekindle inbox` lists them")
        return dict(found[0])
    asks = client.ask("show", session=given)["asks"]
    if asks is None:
        raise UsageError(f"session {given} has no open question", "`rekindle inbox` lists the open questions")
    return dict(asks)
