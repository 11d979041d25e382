"""What a command that is about this host only says of the others, in a fleet. Nothing on one machine."""

from __future__ import annotations

import sys
from typing import Any

from rekindle.core.terminal_text import printable
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
    if not found:
        return ""
    counts: dict[str, int] = {}
    for one in found:
        counts[one["host"]] = counts.get(one["host"], 0) + 1
    hosts = ", ".join(f"{printable(host)}: {count}" for host, count in sorted(counts.items()))
    more = "1 more session" if len(found) == 1 else f"{len(found)} more sessions"
    return f"{what} on this host only. Other hosts have {more} ({hosts}): {way}"


def say(found: list[dict[str, Any]], what: str, way: str) -> None:
    """Say it to the person, not to the program behind a pipe."""
    if line := told(found, what, way):
        print(f"rekindle: {line}", file=sys.stderr)
