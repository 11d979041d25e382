"""`rekindle serve`: the daemon in the foreground, or told to stop."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click

from rekindle.doors.cli.options import daemon, places
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.daemon import NoDaemon


@click.command()
@click.option("--on-demand", is_flag=True, hidden=True)
@click.option(
    "--stop", "only_stop", is_flag=True, help="Stop the daemon that is running; agents go on in their keepers."
)
def serve(on_demand: bool, only_stop: bool) -> int:
    """Run the daemon that owns your sessions. There is one per store; other commands start it when they need it."""
    if only_stop:
        try:
            told = daemon().ask("shutdown", start=False)
        except NoDaemon:
            here = places()
            if not daemon().is_served():
                print("No daemon is running.")
                return 0
            pid = int(Path(here.daemon_lock).read_text())  # it holds the lock, so it lives
            os.kill(pid, signal.SIGTERM)
            told = {"pid": pid}
        print(f"The daemon (pid {told['pid']}) is stopping; agents go on in their keepers.")
        return 0
    return use_cases().serve(on_demand=on_demand)
