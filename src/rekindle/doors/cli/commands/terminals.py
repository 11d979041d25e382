"""`rekindle capture`: the screen of an agent that is used in a terminal."""

from __future__ import annotations

import click

from rekindle.doors.cli.commands.logs import named
from rekindle.doors.cli.options import complete_sessions, json_option, places, print_json
from rekindle.doors.cli.terminals import terminals_with
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import UsageError


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.option("--history", type=click.IntRange(min=0), default=0, metavar="N", help="N lines more that scrolled away.")
@json_option
def capture(session: str, history: int, as_json: bool) -> None:
    """The text on the screen of SESSION, whose agent is used in a terminal."""
    name = named(session)
    if not use_cases().conversations().is_in_terminal(name):
        raise UsageError(f"session {name} is not used in a terminal", f"see what was said: rekindle logs {name}")
    screen = terminals_with(places(), name).screen(name, history=history)
    print_json({"id": name, "screen": screen}) if as_json else print(screen)
