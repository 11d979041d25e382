"""What came of bringing back all sessions at once."""

from __future__ import annotations

from typing import Final

import msgspec

#: Why a session is not started now, although somebody wants all of them back.
NO_ROOM: Final = "it waits for its turn, and comes by itself when there is room (rekindle governor)"


class LeftAlone(msgspec.Struct, frozen=True):
    """A session that was not brought back, and why. `is_over`: it is finished, so nobody needs to be told."""

    id: str
    reason: str
    is_over: bool = False


class ResumedAll(msgspec.Struct, frozen=True):
    """The result for all sessions: those that are back, those not tried, those that did not come back."""

    resumed: list[str]
    skipped: list[LeftAlone]
    failed: list[LeftAlone]
