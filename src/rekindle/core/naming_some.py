"""Names in a sentence: if there are many, the first ones and how many more. A sentence has to fit on a screen."""

from __future__ import annotations

from collections.abc import Sequence


def some_of(names: Sequence[str], most: int) -> str:
    """The names, separated by commas."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
