"""`rekindle features`: every feature at a glance."""

from __future__ import annotations

import time

import click
import msgspec

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.status import ago
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@json_option
def features(as_json: bool) -> None:
    """List all features that have a folder in the progress folder.

    The state is that of the run that wrote last, read from the end of each journal; `rekindle analyze NAME` reads all.
    """
    found = use_cases().features().listed()
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    if not found.features:
        print("No feature has a journal yet.")
        return
    width = max(len(printable(row.feature)) for row in found.features)
    now = time.time()
    for row in found.features:
        when = f"last event {ago(row.last_ts, now)}" if row.last_ts else ""
        print(f"{printable(row.feature):<{width}}  {row.state:<10}  {when}".rstrip())
