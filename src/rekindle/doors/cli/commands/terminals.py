"""`rekindle capture`: the screen of an agent that is used in a terminal."""

from __future__ import annotations

import click

from rekindle.doors.cli.options import complete_sessions, json_option, print_json
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option(
    "--history", type=click.IntRange(min=0), default=0, metavar="N", help="Also print N lines that scrolled away."
)
@json_option
def capture(session: str, history: int, as_json: bool) -> None:
    """Print the text on the screen of SESSION, whose agent runs in a terminal."""
    found = use_cases().terminals().capture(session, history)
    print_json({"id": found.id, "screen": found.screen}) if as_json else print(found.screen)
