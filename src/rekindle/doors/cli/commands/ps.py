"""`rekindle ps`: sessions in short. Reads the store itself while no daemon runs, so that it starts fast."""

from __future__ import annotations

import time

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.moved import tell_moved
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.status import OVER, needs
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@click.option("--all", "-a", "every", is_flag=True, help="Also sessions that are finished.")
@json_option
def ps(every: bool, as_json: bool) -> None:
    """List sessions: what works, what waits, what was interrupted."""
    tell_moved()
    rows, unasked = use_cases().sessions().listed()
    shown = [row for row in rows if every or row["status"] not in OVER]
    if as_json:
        print_json({"sessions": shown, **({"unasked": unasked} if unasked else {})})
        return
    if unasked:
        click.echo(f"rekindle: {unasked}", err=True)
    if not shown:
        over = "No open sessions (rekindle ps --all lists the finished ones)." if rows else "No sessions."
        print(f'{over} Start one with: rekindle run "what to do"')
        return
    now = time.time()
    for row in shown:
        age = _age(now - row["changed_at"])
        print(f"{row['id']}  {row['status']:<12} {row['agent']:<10} {age:>5}  {printable(row['title'])[:60]}")
        for line in needs(row, now):
            print(f"            {line}")


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(0, int(seconds))}s"
