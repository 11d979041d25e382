"""`rekindle queue`: the prompts of a session that are not sent yet: shown, changed, put in another order, withdrawn."""

from __future__ import annotations

from typing import Any

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_sessions, daemon, json_option, print_json, who
from rekindle.doors.cli.printing import print_lines
from rekindle.ports.errors import UsageError


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--withdraw", metavar="PROMPT", help="Never send this prompt.")
@click.option("--edit", metavar="PROMPT", help="Change this prompt; give the new text with --text.")
@click.option("--text", help="The new text.")
@click.option("--first", metavar="PROMPT", help="Send this prompt before the others.")
@json_option
def queue(
    session: str, withdraw: str | None, edit: str | None, text: str | None, first: str | None, as_json: bool
) -> None:
    """Show the prompts of SESSION that are not sent yet, and change them.

    What was sent can no longer be changed; `rekindle cancel` ends its turn.
    """
    if (edit is None) != (text is None):
        raise UsageError("--edit and --text belong together", "for example: --edit PROMPT --text 'the new text'")
    asked, told = daemon(), None
    if edit is not None:
        told = asked.ask("queue_edit", session=session, prompt=edit, text=text, by=who())
    if withdraw is not None:
        told = asked.ask("queue_withdraw", session=session, prompt=withdraw, by=who())
    if first is not None:
        known = [one["id"] for one in asked.ask("queue", session=session)["prompts"] if one["by"] != "rekindle"]
        order = [first, *(one for one in known if one != first)]
        told = asked.ask("queue_reorder", session=session, prompts=order, by=who())
    found = told if told is not None else asked.ask("queue", session=session)
    if as_json:
        print_json(found)
        return
    print_lines(_lines(found["prompts"]) or ["Nothing waits to be sent."])


def _lines(prompts: list[dict[str, Any]]) -> list[str]:
    return [
        f"{number}. [{one['id']}] {printable((one['text'].splitlines() or [''])[0])}"
        for number, one in enumerate(prompts, start=1)
    ]
