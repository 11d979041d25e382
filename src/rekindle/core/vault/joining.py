"""Joins two copies of a record that are made of lines: what one of them lost is taken from the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def join(here: Sequence[bytes], copy: Sequence[bytes]) -> list[bytes] | None:
    """One record that has every line of both, in order; None if neither can have become of the other.

    `here` may lack lines of `copy` anywhere, and may go on behind its end. If it goes on in another way from
    somewhere inside, it is another conversation (an agent may go back on purpose), and nothing is joined.
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
