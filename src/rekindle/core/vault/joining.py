"""Joins two copies of a record that consists of lines: what one of them lost is taken from the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def join(here: Sequence[bytes], copy: Sequence[bytes]) -> list[bytes] | None:
    """One record that has every line of both, in order; None if neither can have grown out of the other.

    `here` may lack lines of `copy` anywhere, and may continue after its end. If it continues differently from
    somewhere in the middle, it is another conversation (an agent may go back on purpose), and nothing is joined.
    """
    at = matched = 0
    for line in here:
        try:
            at = copy.index(line, at) + 1
        except ValueError:
            break
        matched += 1
    if matched == len(here):
        return list(copy)
    return [*copy, *here[matched:]] if at == len(copy) else None
