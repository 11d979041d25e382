"""The events of one run of a feature, written through the daemon's journals. See `rekindle.ports.feature.RunEvents`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.app.feature_decision import Tell
from rekindle.app.journals import JournalWriters
from rekindle.app.requests import AppendRequest
from rekindle.runtime.outbox import Outbox

#: How long a run waits at its end for its agents' events to be on disk.
_FLUSH_SECONDS = 30.0


@dataclass(frozen=True)
class WrittenRunEvents:
    """The run's own events go to the journal at once; its sessions' events arrive through the outbox."""

    repository: str
    feature: str
    sid: str
    journals: JournalWriters
    outbox: Outbox
    flush_seconds: float = _FLUSH_SECONDS

    async def append(self, type_: str, data: dict[str, Any], event_id: str) -> None:
        """Write an event of the run."""
        asked = AppendRequest(
            cwd=self.repository, feature=self.feature, type=type_, data=data, sid=self.sid, event_id=event_id
        )
        await self.journals.append(asked)

    async def flush(self) -> None:
        """Raises JournalError if the sessions' events cannot be written."""
        await self.outbox.flush(self.repository, self.feature, self.flush_seconds)

    def tell(self) -> Tell:
        """Writes an event with a key that is unique to the run."""

        async def tell(type_: str, data: dict[str, Any], key: str) -> None:
            await self.append(type_, data, f"{self.sid}-{key}")

        return tell
