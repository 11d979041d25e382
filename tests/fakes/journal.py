"""A journal in memory that keeps the promises of the port; held to them by the conformance suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rekindle.adapters.journal_file.append import encode, timestamp
from rekindle.adapters.journal_file.lock import AppendError
from rekindle.adapters.journal_file.proven import own_events, told_apart
from rekindle.core.journal.decode import Decoded, decode_line
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import JournalState, fold
from rekindle.core.journal.orders import CLAIMED, decides, gives_work
from rekindle.ports.errors import BadEvent, JournalError
from rekindle.ports.journal import Appended, NewEvent, Sync, default_sync


@dataclass
class Log:
    """What outlives a writer: the lines, how many of them would survive a power loss, and which are on record."""

    lines: list[bytes] = field(default_factory=list)
    durable: int = 0
    record: set[bytes] = field(default_factory=set)
    is_full: bool = False
    record_is_broken: bool = False
    _decoded: list[Decoded] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)
    _seqs: dict[str, int] = field(default_factory=dict)
    _folded: dict[str, tuple[int, int, JournalState]] = field(default_factory=dict)

    def written(self) -> Callable[[bytes], bool]:
        return self.record.__contains__

    def approvals(self) -> frozenset[str]:
        return frozenset()

    def decoded(self) -> list[Decoded]:
        """The lines, each decoded once."""
        if len(self._decoded) > len(self.lines):  # somebody has cut the journal
            self._decoded, self._ids, self._seqs = [], set(), {}
        for line in self.lines[len(self._decoded) :]:
            found = decode_line(line.removesuffix(b"\n"))
            self._decoded.append(found)
            if isinstance(found, Event) and found.eid is not None:
                self._ids.add(found.eid)
            if isinstance(found, Event) and found.sid is not None and found.seq is not None:
                self._seqs[found.sid] = max(found.seq, self._seqs.get(found.sid, -1))
        return self._decoded

    def last_seq(self, sid: str) -> int:
        """The number of a run's last event; -1: it has none."""
        self.decoded()
        return self._seqs.get(sid, -1)

    def ids(self) -> set[str]:
        """The ids of the events."""
        self.decoded()
        return self._ids

    def folded(self, how: str, fold_it: Callable[[], JournalState]) -> JournalState:
        """What the journal says, folded again only if it has changed."""
        found = self._folded.get(how)
        if found is None or found[:2] != (len(self.lines), len(self.record)):
            found = self._folded[how] = (len(self.lines), len(self.record), fold_it())
        return found[2]


class FakeJournal:
    """Lines in a list. Two fakes over the same `log` are two writers of one journal."""

    def __init__(self, feature: str = "search", log: Log | None = None) -> None:
        self.log = log or Log()
        self._feature = feature
        self._waiting = False

    @property
    def lines(self) -> list[bytes]:
        return self.log.lines

    def append(self, event: NewEvent, *, sid: str | None, fresh: bool = False, sync: Sync | None = None) -> Appended:
        policy = sync or default_sync(event.type)
        if event.event_id is not None and self.knows(event.event_id):
            self._settle(policy)
            return Appended(None, None, written=False)
        if sid is None:
            open_runs = [run.sid for run in self.state().runs if not run.ended]
            sid = open_runs[-1] if open_runs else None
        seq = self.log.last_seq(sid) + 1 if sid is not None else None
        claimed = event.by_agent and decides(event.type) and _only_claims(self.state(), sid)
        envelope: dict[str, object] = {
            "ts": timestamp(0),
            "type": CLAIMED + event.type if claimed else event.type,
            "feature": self._feature,
            "data": event.data,
        }
        try:
            line = encode(envelope, sid, seq, event.event_id)
        except AppendError as error:
            raise BadEvent(error.message, error.hint, code=error.code) from error
        except (ValueError, TypeError) as error:
            raise BadEvent(str(error)) from error
        self._write(line, event)
        self._settle(policy)
        return Appended(sid, seq, claimed=claimed)

    def _write(self, line: bytes, event: NewEvent) -> None:
        if self.log.record_is_broken and event.on_record:
            raise JournalError("the event cannot be put on record, and was not written")
        if self.log.is_full:
            raise JournalError("no room for the event", code="disk_full")
        if not self.log.record_is_broken and not (event.by_agent and gives_work(event.type)):
            self.log.record.add(line.removesuffix(b"\n"))
        self.log.lines.append(line)

    def _settle(self, policy: Sync) -> None:
        if policy is Sync.ALWAYS:
            self.flush()
        self._waiting = self._waiting or policy is Sync.BATCHED

    def knows(self, event_id: str) -> bool:
        return event_id in self.log.ids()

    def flush(self) -> None:
        self.log.durable = len(self.log.lines)
        self._waiting = False

    def state(self) -> JournalState:
        return self.log.folded("all", lambda: fold(self.log.decoded()))

    def proven(self) -> JournalState:
        return self.log.folded("proven", self._proven)

    def _proven(self) -> JournalState:
        if all(one.removesuffix(b"\n") in self.log.record for one in self.log.lines):
            return self.state()  # nobody else has written to it
        decoded, found = told_apart((one.removesuffix(b"\n") for one in self.log.lines), self.log)  # type: ignore[arg-type]
        state = fold(decoded)
        state.disowned = found
        return state

    def own(self) -> list[Event]:
        return own_events((one.removesuffix(b"\n") for one in self.log.lines), self.log)  # type: ignore[arg-type]

    def close(self) -> None:
        if self._waiting:
            self.flush()


def _only_claims(state: JournalState, sid: str | None) -> bool:
    """Whether an agent's word about this run decides nothing."""
    known = next((run for run in state.runs if run.sid == sid), None)
    if known is not None:
        return known.is_driven
    return any(run.is_driven and not run.ended for run in state.runs)
