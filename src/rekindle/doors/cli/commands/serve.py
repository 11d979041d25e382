"""`rekindle serve`: the daemon in the foreground, or told to stop."""

from __future__ import annotations

import click

from rekindle.app.serving import stop
from rekindle.doors.cli.options import daemon
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.option("--on-demand", is_flag=True, hidden=True)
@click.option(
    "--stop", "only_stop", is_flag=True, help="Stop the running daemon; agents keep working in their keepers."
)
def serve(on_demand: bool, only_stop: bool) -> int:
    """Run the daemon that owns your sessions. There is one per store; other commands start it when they need it."""
    if only_stop:
        pid = stop(daemon())
        if pid is None:
            print_lines(["No daemon is running."])
        else:
            print_lines([f"The daemon (pid {pid}) is stopping; agents keep working in their keepers."])
        return 0
    return use_cases().serve(on_demand=on_demand)
