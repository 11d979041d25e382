"""What is said of other hosts where something was done on this one only: the same words on every door. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rekindle.core.terminal_text import printable


def left_out(counts: Mapping[str, int], what: str, way: str) -> str:
    """How many sessions each other host has, in a sentence; empty if none has any.

    `what` was done here, `way` is for the rest.
    """
    every = sum(counts.values())
    if not every:
        return ""
    hosts = ", ".join(f"{printable(host)}: {count}" for host, count in sorted(counts.items()))
    more = "1 more session" if every == 1 else f"{every} more sessions"
    return f"{what} on this host only. Other hosts have {more} ({hosts}): {way}"
