"""`rekindle governor`: what spans sessions."""

from __future__ import annotations

import time

import click

from rekindle.doors.cli import governed
from rekindle.doors.cli.options import daemon, json_option, print_json, who
from rekindle.doors.cli.printing import print_lines


@click.command()
@click.option("--go-on", is_flag=True, help="Let sessions be restarted automatically again.")
@json_option
def governor(go_on: bool, as_json: bool) -> None:
    """Show what spans sessions: agents at work and who waits for a turn, restarts, spending, and limits.

    `rekindle config` sets what holds: max_agents, start_spacing, memory_reserve, max_restarts, restart_window,
    max_cost_per_day, max_cost_per_night, night, limit_returns.
    """
    told = daemon().ask("restarts_go_on", by=who()) if go_on else daemon().ask("governor")
    print_json(told) if as_json else print_lines(governed.lines(told, time.time()))
