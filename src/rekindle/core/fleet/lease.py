"""How long an agent of a fleet may live after a heartbeat that its engine has accepted. Pure.

The engine gives a job to another host once it has not heard from this one for `timeout` seconds, counted from the
heartbeat that it heard last. That was after we asked, so we count from before we asked: the agent here, with its whole
tree, is gone before anybody else may start one.
"""

from __future__ import annotations

from typing import Final

#: How long a keeper needs at most to end a tree (`keeper.deadline.ENDS_WITHIN`; a test compares the two).
ENDS_WITHIN: Final = 3.0
#: For rounding; and for clocks that run a little slower here than there, while they are being corrected.
MARGIN: Final = 0.25
_DRIFT: Final = 0.002
#: The shortest heartbeat: half of it is left for a lease, and an agent lives through a late answer.
SHORTEST: Final = 5.0
#: A start needs so much of a lease at least; with less it waits for the next heartbeat.
TO_START: Final = 0.5
#: How many heartbeats are sent in one timeout.
_BEATS: Final = 6


def lasts_until(asked_at: float, timeout: float, closes_at: float | None = None) -> float:
    """Until when an agent may live if the heartbeat that was sent at `asked_at` was accepted.

    `closes_at`: when the engine takes the job from this host in any case.
    """
    until = asked_at + timeout if closes_at is None else min(asked_at + timeout, closes_at)
    return until - ENDS_WITHIN - _margin(timeout)


def _margin(timeout: float) -> float:
    return max(MARGIN, timeout * _DRIFT)


def pause(timeout: float) -> float:
    """How long to wait between two heartbeats: several may fail without an agent noticing."""
    return max(0.2, (timeout - ENDS_WITHIN - _margin(timeout)) / _BEATS)


def may_start(until: float | None, now: float) -> bool:
    """Whether an agent may be started under a lease; None: there is none."""
    return until is not None and until - now >= TO_START
