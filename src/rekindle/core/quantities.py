"""Durations and amounts of money as people write them. Pure, light standard library only."""

from __future__ import annotations

import math
import re

_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds_in(text: str) -> float | None:
    """How long 90, 90s, 15m, 2h or 1d is; None for what is not a valid duration."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        return None
    seconds = float(found[1]) * _UNITS[found[2]]
    return seconds if 0 < seconds < math.inf else None


def dollars_in(text: str) -> float | None:
    """An amount that can be reached: nothing ever exceeds `nan` or `inf`. None if it is not a valid amount."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if 0 < found < math.inf else None


def duration(seconds: float) -> str:
    """A span of time in its largest units."""
    minutes, left = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [(hours, "h"), (minutes, "min"), (left if not hours else 0, "s")]
    return " ".join(f"{number} {unit}" for number, unit in parts if number) or "0 s"
