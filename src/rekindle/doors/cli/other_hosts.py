"""What a command that is about this host only says of the others, in a fleet. Nothing on one machine."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from rekindle.core.fleet.left_out import left_out
from rekindle.doors.cli.use_cases import use_cases


def elsewhere(*wanted: str, is_running: bool = False) -> list[dict[str, Any]]:
    """The sessions of other hosts, in short: with one of these statuses, or with an agent, or all."""
    return [
        {name: row[name] for name in ("id", "host", "status")}
        for row in use_cases().sessions().elsewhere()
        if (not wanted or row["status"] in wanted) and (row["is_running"] or not is_running)
    ]


def told(found: list[dict[str, Any]], what: str, way: str) -> str:
    """That this host is not all there is, in one line; empty if it is. `what` was done here, `way` is for the rest."""
    return left_out(Counter(one["host"] for one in found), what, way)


def say(found: list[dict[str, Any]], what: str, way: str) -> None:
    """Say it to the person, not to the program behind a pipe."""
    if line := told(found, what, way):
        print(f"rekindle: {line}", file=sys.stderr)
