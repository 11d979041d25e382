"""`rekindle features`: every feature at a glance."""

from __future__ import annotations

import time
from typing import Any

import click

from rekindle.doors.cli.options import json_option, print_json, workspace
from rekindle.doors.cli.outcome import printable
from rekindle.doors.cli.status import ago


@click.command()
@json_option
def features(as_json: bool) -> None:
    """List all features that have a folder in the progress folder.

    The state is that of the run that wrote last, read from the end of each journal; `rekindle analyze NAME` reads all.
    """
    here = workspace()
    rows: list[dict[str, Any]] = []
    for item in here.scan().features():
        if item.error is not None:
            state = "unreadable"
        elif item.tail is None:
            state = "empty"
        else:
            state = "ended" if item.tail.ended else "open"
        if state == "open" and here.owner(item.name) is not None:
            state = "running"
        last = item.tail.ts if item.tail else None
        sid = item.tail.sid if item.tail else None
        rows.append({"feature": item.name, "state": state, "sid": sid, "last_ts": last, "bytes": item.size})
    if as_json:
        print_json({"progress": here.progress, "features": rows})
        return
    if not rows:
        print("No feature has a journal yet.")
        return
    width = max(len(printable(row["feature"])) for row in rows)
    now = time.time()
    for row in rows:
        when = f"last event {ago(row['last_ts'], now)}" if row["last_ts"] else ""
        print(f"{printable(row['feature']):<{width}}  {row['state']:<10}  {when}".rstrip())
