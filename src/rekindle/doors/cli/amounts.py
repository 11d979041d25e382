"""Time, tokens and money as people read them. Pure."""

from __future__ import annotations

import time

from rekindle.core.quantities import duration


def used(tokens: int, cost: float | None) -> list[str]:
    """`262 tokens` and `$0.42`, as far as they are known."""
    found = [f"{tokens:,} token{'s' if tokens != 1 else ''}"] if tokens else []
    return found if cost is None else [*found, f"${cost:.2f}" if cost >= 0.995 else f"${cost:.4f}"]


def clock_time(at: float, now: float) -> str:
    """The time of day, with the date if that is not today's."""
    there, today = time.localtime(at), time.localtime(now)
    return time.strftime("%H:%M:%S" if there[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", there)


def when(at: float, now: float) -> str:
    """`12:44:59 (3 min 20 s ago)`."""
    return f"{clock_time(at, now)} ({duration(max(now - at, 0.0))} ago)"
