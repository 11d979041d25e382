"""Whether a recorded pid still means the process that claimed a session. Pure; no imports: a hook reads it.

A pid alone proves nothing: pids are reused. Our own claims carry what tells one process from another; a claim that
somebody else wrote has a pid only, and counts if that process is older than the claim.
"""

from __future__ import annotations


def bare_pid(claimed_at: float | None, began: float | None) -> str:
    """The verdict on a pid without anything else: `began` is when that process began, None if there is none."""
    if began is None:
        return "dead"
    if claimed_at is not None and began > claimed_at + 2:
        return "dead"  # it began after the claim: another process has the number now
    return "alive"
