"""What happens to agents that are asked to end: which have ended, and why others are still there."""

from __future__ import annotations

from typing import Final

import msgspec

from rekindle.core.session.state import Session
from rekindle.ports.errors import RekindleError

#: How long to wait for a stopped agent to end before reporting that it is still running.
END_SECONDS: Final = 60.0


class NotStopped(msgspec.Struct, frozen=True):
    """A session whose agent did not end, why, and what can be done about it."""

    id: str
    reason: str
    next: str


class StoppedAll(msgspec.Struct, frozen=True):
    """The sessions whose agents have ended, and those whose agents were asked to end and did not."""

    stopped: list[str]
    failed: list[NotStopped]


def still_there(session: Session, keeper: int | None) -> RekindleError | None:
    """Why an agent that had time to end is still there, if it is. `keeper` is its keeper's pid if that is stopped."""
    if not session.is_up:
        return None
    if keeper is not None:
        return RekindleError(
            f"session {session.id}: its keeper (pid {keeper}) is stopped and does not answer; "
            "its agent is stopped when the keeper continues",
            f"continue it: kill -CONT {keeper}",
            code="keeper_stopped",
        )
    return RekindleError(
        f"session {session.id}: its agent is still running after {END_SECONDS:g} s",
        f"look again in a moment with `rekindle ps`, then: rekindle stop {session.id}",
        code="still_running",
    )
