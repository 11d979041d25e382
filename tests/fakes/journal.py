"""A journal in memory that keeps the promises of the port; held to them by the conformance suite."""

from __future__ import annotations

from rekindle.adapters.journal_file.append import encode, timestamp
from rekindle.adapters.journal_file.lock import AppendError
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.fold import JournalState, fold
from rekindle.core.journal.orders import CLAIMED, decides
from rekindle.ports.errors import BadEvent
from rekindle.ports.journal import Appended, NewEvent, Sync, default_sync


class FakeJournal:
    """Lines in a list. `durable` is how many of them would survive a power loss."""

    def __init__(self, feature: str = "search") -> None:
        self.lines: list[bytes] = []
        self.durable = 0
        self._feature = feature
        self._ids: set[str] = set()

    def append(self, event: NewEvent, *, sid: str | None, fresh: bool = False, sync: Sync | None = None) -> Appended:
        policy = sync or default_sync(event.type)
        state = self.state()
        if event.event_id in self._ids:
            self._settle(policy)
            return Appended(None, None, written=False)
        if sid is None:
            open_runs = [run.sid for run in state.runs if not run.ended]
            sid = open_runs[-1] if open_runs else None
        seq = None
        if sid is not None:
            known = state.sids.get(sid)
            seq = known.last_seq + 1 if known is not None else 0
        known = state.sids.get(sid or "")
        claimed = event.by_agent and decides(event.type) and known is not None and known.is_driven
        envelope: dict[str, object] = {
            "ts": timestamp(0),
            "type": CLAIMED + event.type if claimed else event.type,
            "feature": self._feature,
            "data": event.data,
        }
        try:
            self.lines.append(encode(envelope, sid, seq, event.event_id))
        except AppendError as error:
            raise BadEvent(error.message, error.hint, code=error.code) from error
        except (ValueError, TypeError) as error:
            raise BadEvent(str(error)) from error
        if event.event_id is not None:
            self._ids.add(event.event_id)
        self._settle(policy)
        return Appended(sid, seq, claimed=claimed)

    def _settle(self, policy: Sync) -> None:
        if policy is Sync.ALWAYS:
            self.durable = len(self.lines)

    def knows(self, event_id: str) -> bool:
        return event_id in self._ids

    def flush(self) -> None:
        self.durable = len(self.lines)

    def state(self) -> JournalState:
        return fold(decode_line(one.removesuffix(b"\n")) for one in self.lines)

    def proven(self) -> JournalState:
        return self.state()

    def close(self) -> None:
        pass
