"""`rekindle ps`: the list of sessions. Without a daemon it reads the store itself, so that it starts fast."""

from __future__ import annotations

import os
import sys
import time

import click

from rekindle.core.session.words import OVER
from rekindle.doors.cli import governed
from rekindle.doors.cli.moved import tell_moved
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.session_screen import grouped, table
from rekindle.doors.cli.status import surface_of
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.option("--all", "-a", "every", is_flag=True, help="Include finished sessions.")
@click.option(
    "--here", is_flag=True, help="Only sessions of this repository, or of this folder if it is in no repository."
)
@click.option("--needs-you", "needs_you", is_flag=True, help="Only sessions that need a person.")
@json_option
def ps(every: bool, here: bool, needs_you: bool, as_json: bool) -> None:
    """List sessions: first those that need you, with the reason and what to type, then working ones, then the rest."""
    tell_moved()
    sessions = use_cases().sessions()
    rows, unasked = sessions.listed()
    if here:
        rows = use_cases().status().those_here(rows)
    shown = [row for row in rows if (every or row["status"] not in OVER) and (row["needs_you"] or not needs_you)]
    if as_json:
        told = {"governor": sessions.governor} if sessions.governor else {}
        print_json({"sessions": shown, **told, **({"unasked": unasked} if unasked else {})})
        return
    if unasked:
        click.echo(f"rekindle: {unasked}", err=True)
    for line in governed.news(sessions.governor, time.time()):
        print(line)
    if not shown:
        print(_nothing(any_left=bool(rows), here=here, needs_you=needs_you))
        return
    print("\n".join(table(grouped(shown), surface_of(sys.stdout.isatty(), os.environ, time.time()))))


def _nothing(*, any_left: bool, here: bool, needs_you: bool) -> str:
    place = " here" if here else ""
    if needs_you:
        return f"Nothing needs you{place}." + (" (rekindle ps lists the sessions)" if any_left else "")
    over = (
        f"No open sessions{place} (rekindle ps --all lists the finished ones)." if any_left else f"No sessions{place}."
    )
    return f"{over}\n  " + next_step('rekindle run "what to do"')
