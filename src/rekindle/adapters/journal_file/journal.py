"""The journal port on a file: the appender for writing, the fold for reading."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from rekindle.adapters.journal_file import append as low
from rekindle.adapters.journal_file.ledger import Ledger, lines_of
from rekindle.adapters.journal_file.lock import AppendError
from rekindle.adapters.journal_file.proven import ProvenReader, own_events
from rekindle.adapters.journal_file.read import read_state
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import JournalState
from rekindle.ports.errors import BadEvent, JournalError, RekindleError
from rekindle.ports.journal import Appended, NewEvent, Sync, default_sync

Found = TypeVar("Found")


class FileJournal:
    """See `rekindle.ports.journal.Journal`."""

    def __init__(
        self,
        path: Path,
        feature: str,
        *,
        sync: Sync | None = None,
        snapshots: SnapshotCache | None = None,
        clock: Callable[[], float] = time.time,
        system: low.AppendCalls | None = None,
        lock_seconds: float = 30.0,
        root: Path | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.path = path
        self._feature = feature
        self._sync = sync
        self._snapshots = snapshots
        self._clock = clock
        top = str(root) if root is not None else None
        self._ledger = ledger
        self._proven = ProvenReader(path, ledger, snapshots)
        self._appender = low.Appender(str(path), system=system, lock_seconds=lock_seconds, root=top, ledger=ledger)
        self._waiting = False

    def append(self, event: NewEvent, *, sid: str | None, fresh: bool = False, sync: Sync | None = None) -> Appended:
        """Append to the run `sid`; with None, to the newest open run or, where there is none, to no run."""
        policy = sync or self._sync or default_sync(event.type)
        line: dict[str, object] = {
            "ts": low.timestamp(self._clock()),
            "type": event.type,
            "feature": self._feature,
            "agent": event.agent,
            "pane_id": event.pane_id,
            "data": event.data,
        }
        try:
            place = self._appender.append(
                line,
                sid=sid,
                event_id=event.event_id,
                fresh=fresh,
                by_agent=event.by_agent,
                on_record=event.on_record,
            )
            if policy is Sync.ALWAYS:
                self._appender.sync()
                self._waiting = False
            else:
                self._waiting = self._waiting or policy is Sync.BATCHED
        except AppendError as error:
            raise _translated(error) from error
        except (ValueError, TypeError, RecursionError) as error:
            raise BadEvent(
                f"the data of {event.type} is no JSON ({error})", "numbers must be finite and nesting shallow"
            ) from error
        if place is None:
            return Appended(None, None, written=False)
        return Appended(*place, claimed=line["type"] != event.type)

    def knows(self, event_id: str) -> bool:
        """Whether an event with this id is in the journal."""
        try:
            return self._appender.knows(event_id)
        except AppendError as error:
            raise _translated(error) from error

    def flush(self) -> None:
        """Put every event appended so far on disk."""
        try:
            self._appender.sync()
            self._waiting = False
        except AppendError as error:
            raise _translated(error) from error

    def state(self) -> JournalState:
        """Everything that the journal says now."""
        return self._read(lambda: read_state(self.path, self._snapshots), JournalState)

    def proven(self) -> JournalState:
        """The same, but in the runs that rekindle drives only their own word counts; `disowned` are the other lines."""
        return self._read(self._proven.state, JournalState)

    def own(self) -> list[Event]:
        """What rekindle wrote itself in the runs that it drives, in the order of the file."""
        ledger = self._ledger
        if ledger is None:
            return []  # nothing is on record
        return self._read(lambda: own_events(lines_of(str(self.path)), ledger), list)

    def _read(self, read: Callable[[], Found], nothing: Callable[[], Found]) -> Found:
        try:
            return read()
        except FileNotFoundError:
            return nothing()
        except OSError as error:
            raise JournalError(
                f"{self.path}: cannot be read ({error.strerror})",
                "check its permissions",
                code="journal_unreadable",
            ) from error

    def unapproved(self, lineage: Collection[str]) -> str | None:
        """A fingerprint of what decides about a resume of these runs and is neither ours nor approved, or None."""
        if self._ledger is None:
            return "unknown"  # nothing is on record
        disowned = frozenset(one.line for one in self.proven().disowned)
        try:
            return self._ledger.unapproved(lines_of(str(self.path)), lineage, disowned)
        except OSError as error:
            raise JournalError(f"{self.path}: cannot be read ({error.strerror})", "check its permissions") from error

    def admit(self, yes: str) -> bool:
        """Let a run count from now on that would interfere with ours; whether `yes` begins the id of one."""
        found = {one.intruder for one in self.proven().disowned if one.intruder.startswith(yes)} - {""}
        for fingerprint in found:
            self.approve(fingerprint)
        return bool(found)

    def approve(self, fingerprint: str) -> None:
        """Remember the user's yes to what has this fingerprint."""
        if self._ledger is not None:
            try:
                self._ledger.approve(fingerprint)
            except OSError as error:
                raise JournalError(f"the yes cannot be kept ({error.strerror})", "check your state folder") from error

    def close(self) -> None:
        """Put batched events on disk and close the file."""
        try:
            if self._waiting:
                self.flush()
        finally:
            self._appender.close()


def _translated(error: AppendError) -> RekindleError:
    kind = BadEvent if error.code == "event_too_long" else JournalError
    return kind(error.message, error.hint, code=error.code)
