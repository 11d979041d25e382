"""The journal's writer: one lock, one write, one sync, and only then an acknowledgement.

Any number of processes may append at once, from any worktree. A line torn by a crash is closed with a newline in the
same write that appends the next event, so nobody's event is glued to it. A write that comes back short is taken
back. Standard library only: the hook client imports this and has to start fast.
"""

from __future__ import annotations

import errno
import os
import time

from rekindle import files
from rekindle.adapters.journal_file import head as heads
from rekindle.adapters.journal_file import lock
from rekindle.adapters.journal_file.lock import AppendError
from rekindle.core import lean_json
from rekindle.core.journal.decode import decode_line
from rekindle.core.journal.event import SESSION_START, Event
from rekindle.core.journal.orders import CLAIMED, decides

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from rekindle.adapters.journal_file.ledger import Ledger

MAX_LINE = 1 << 20
HEAD_NAME = "events.head"
#: The head beside the log is renewed when it is this far behind, so that a hook never has much to catch up with.
_HEAD_LAG = 1 << 14
#: After this much catching up the head is stored: a writer that runs out of time leaves less to the next one.
_HEAD_STEP = 8 << 20
#: How much of the log is looked at in one go, when a hook call is looked for.
_CALL_BLOCK = 8 << 20


class AppendCalls:
    """The calls that durability depends on, in one place, so that a test can watch their order and make them fail."""

    write: Callable[[int, bytes], int] = staticmethod(os.write)
    sync: Callable[[int], None] = staticmethod(os.fdatasync)
    truncate: Callable[[int, int], None] = staticmethod(os.ftruncate)


class Appender:
    """One open log. Not for use by several threads at once; any number of processes may have their own."""

    def __init__(
        self,
        path: str,
        *,
        lock_seconds: float = 30.0,
        system: AppendCalls | None = None,
        root: str | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.path = path
        self._root = root
        self._ledger = ledger
        self._head_path = os.path.join(os.path.dirname(path), HEAD_NAME)
        self._lock_seconds = lock_seconds
        self._system = system or AppendCalls()
        self._fd = -1
        self._head = heads.Head()
        self._stored_at = 0
        self._ids: set[str] = set()
        self._ids_offset = 0
        self._own: tuple[str, int, int] | None = None  # sid, seq and end of the last event of ours

    def close(self) -> None:
        """Close the file. What was not synced is on disk whenever the system gets to it."""
        if self._ledger is not None:
            self._ledger.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def rest(self) -> None:
        """Keep the file open for the next time, and let go of the record. Waits for no disk."""
        if self._ledger is not None:
            self._ledger.close()

    def append(
        self,
        event: dict[str, object],
        *,
        sid: str | None,
        event_id: str | None = None,
        fresh: bool = False,
        session: str = "",
        by_agent: bool = False,
        on_record: bool = False,
    ) -> tuple[str | None, int | None] | None:
        """Append `event` (its envelope without v, sid and seq) and return the (sid, seq) that it got.

        With `sid` None it goes to the newest open run (`session`'s own first), or stands without sid where there is
        none. `fresh` promises that the sid was just made up, so that nobody has to look for it. An event whose
        `event_id` is in the log already is not written again: the return value is then None.
        What an agent says in a run that rekindle drives becomes a claim: `event` has the type that was written. A run
        that it begins in a journal with such runs is not put on record, so it cannot take their place.
        `on_record`: rather fail than write what the ledger does not have.
        The event is *not* on disk before `sync` has returned.
        """
        may_claim = by_agent and decides(str(event["type"]))
        line = self._foreseen(event, sid) if event_id is None and not may_claim else None
        size = self._locked()
        try:
            seq: int | None
            known = self._next_of_ours(sid, size) if line is not None else None
            if line is not None and known is not None:
                seq, torn = known
            else:
                self._refresh(sid, size, fresh=fresh)
                if event_id is not None and self._has_id(event_id, size):
                    return None
                if sid is None:
                    sid = self._head.open_run(session)
                if may_claim and self._head.only_claims(sid):
                    event["type"] = f"{CLAIMED}{event['type']}"
                seq = self._head.next_seq(sid) if sid is not None else None
                torn = self._head.offset < size
                line = encode(event, sid, seq, event_id)
            if not (by_agent and event["type"] == SESSION_START and self._head.has_driven):
                # An event with an id is not written twice, so its record has to be on disk before it is.
                batched = event_id is None
                self._note(str(event["type"]), line, by_agent=by_agent, must=on_record, batched=batched)
            data = b"\n" + line if torn else line
            self._write(data, size)
            self._own = (sid, seq, size + len(data)) if sid is not None and seq is not None else None
            if sid is not None and seq is not None and self._head.offset == size:
                self._head.wrote(sid, seq, event, len(data))  # no need to read what we know
            if size == 0:
                files.sync_folder(os.path.dirname(self.path))  # the file's creator may have died before doing it
            return sid, seq
        except OSError as error:
            raise AppendError(
                "journal_unreadable", f"{self.path}: cannot be read ({error.strerror})", "check the disk"
            ) from error
        finally:
            lock.release(self._fd)

    def _note(self, type_: str, line: bytes, *, by_agent: bool, must: bool, batched: bool) -> None:
        if self._ledger is None:
            return
        try:
            self._ledger.note(type_, line, by_agent=by_agent, must=must, batched=batched)
        except OSError as error:
            raise AppendError(
                "not_on_record",
                f"{self.path}: the event cannot be put on record ({error.strerror}), and was not written",
                "check room and permissions of rekindle's state folder",
            ) from error

    def sync(self) -> None:
        """Put everything that was appended so far on disk. Call this before acknowledging an event."""
        if self._fd < 0:
            return
        try:
            if self._ledger is not None:
                self._ledger.sync()
            self._system.sync(self._fd)
        except OSError as error:
            raise AppendError(
                "not_synced",
                f"{self.path}: the disk did not confirm the event ({error.strerror})",
                "check the disk; the event may or may not survive a power loss",
            ) from error

    def knows(self, event_id: str) -> bool:
        """Whether an event with this id is in the log."""
        if not os.path.exists(self.path):
            return False
        size = self._locked()
        try:
            self._refresh(None, size, fresh=True)
            return self._has_id(event_id, size)
        finally:
            lock.release(self._fd)

    def knows_call(self, name: str) -> bool:
        """Whether an event of a hook call (`call` in its envelope) is in the log. Looks from the end.

        The bytes are looked for, and only a line that has them is decoded: it may be a torn one.
        """
        if not os.path.exists(self.path):
            return False
        end = self._locked()
        try:
            needle = f'"call":"{name}"'.encode()
            while end > 0:
                start = max(0, end - _CALL_BLOCK)
                block = os.pread(self._fd, end + MAX_LINE - start, start)
                for line in lines_with(needle, block):
                    if isinstance(decode_line(line), Event):
                        return True
                end = start
            return False
        finally:
            lock.release(self._fd)

    def head(self) -> heads.Head:
        """The writer's view of the log, brought up to date. A log that is not there is not made."""
        if not os.path.exists(self.path):
            return heads.Head()
        size = self._locked()
        try:
            self._refresh(None, size, fresh=False)
            return self._head
        finally:
            lock.release(self._fd)

    def _locked(self) -> int:
        """Take the lock; returns how long the log is."""
        before, self._fd = self._fd, -1
        self._fd, size = lock.open_locked(self.path, before, self._lock_seconds, self._root)
        if self._fd != before:
            self._own = None
        return size

    def _foreseen(self, event: dict[str, object], sid: str | None) -> bytes | None:
        """The line as it will be if nobody else writes to our run: made before others have to wait for us."""
        return encode(event, sid, self._own[1] + 1, None) if self._own is not None and self._own[0] == sid else None

    def _next_of_ours(self, sid: str | None, size: int) -> tuple[int, bool] | None:
        """The next seq of the run that we wrote to last, and whether the log ends in a torn line.

        None unless it is plain that nobody else has written to that run since: then there is nothing to parse, and the
        lock is held for as long as a write takes. A sid that hides behind escapes is not plain.
        """
        if self._own is None or self._own[0] != sid or not 0 <= size - self._own[2] < _HEAD_STEP:
            return None
        since = os.pread(self._fd, size - self._own[2], self._own[2])
        if len(since) != size - self._own[2] or sid.encode() in since or b"\\u" in since:
            return None
        return self._own[1] + 1, bool(since) and since[-1:] != b"\n"

    def _refresh(self, sid: str | None, size: int, *, fresh: bool) -> None:
        inode = os.fstat(self._fd).st_ino
        head = self._head
        if head.inode != inode or head.offset > size:
            self._ids, self._ids_offset = set(), 0
            head = heads.load(self._head_path, self._fd, size, inode)
            self._stored_at = head.offset
        if not head.complete and not fresh and (not head.knows(sid) if sid is not None else head.open_run() is None):
            head = heads.Head(inode)
        self._head = head
        while not head.catch_up(self._fd, size, most=_HEAD_STEP):
            self._store()
        if head.offset - self._stored_at > _HEAD_LAG:
            self._store()

    def _store(self) -> None:
        heads.store(self._head_path, self._head, self._fd)
        self._stored_at = self._head.offset

    def _has_id(self, event_id: str, size: int) -> bool:
        while self._ids_offset < size:
            block = os.pread(self._fd, MAX_LINE, self._ids_offset)
            cut = block.rfind(b"\n") + 1
            if not cut:
                block = heads.line_at(self._fd, self._ids_offset, size)
                cut = block.rfind(b"\n") + 1
            for line in lines_with(b'"eid"', block[:cut] if cut else block):
                event = decode_line(line)
                if isinstance(event, Event) and event.eid is not None:
                    self._ids.add(event.eid)
            if not cut:
                break
            self._ids_offset += cut
        return event_id in self._ids

    def _write(self, data: bytes, size: int) -> None:
        try:
            written = self._system.write(self._fd, data)
        except OSError as error:
            self._take_back(size)
            raise _no_room(self.path, error) from error
        if written != len(data):
            self._take_back(size)
            raise _no_room(self.path, None)

    def _take_back(self, size: int) -> None:
        """Cut off what a failed write left. If even that fails, the next writer closes the torn line."""
        try:
            if os.fstat(self._fd).st_size > size:
                self._system.truncate(self._fd, size)
        except OSError:
            pass


def lines_with(needle: bytes, block: bytes) -> list[bytes]:
    """The lines of a block that contain these bytes, without looking at the others."""
    found = []
    at = block.find(needle)
    while at >= 0:
        end = block.find(b"\n", at)
        end = len(block) if end < 0 else end
        found.append(block[block.rfind(b"\n", 0, at) + 1 : end])
        at = block.find(needle, end)
    return found


def encode(event: dict[str, object], sid: str | None, seq: int | None, event_id: str | None) -> bytes:
    """The line of an event, newline included. `event` has ts, type, feature, agent, pane_id and data, in this order."""
    place = {"sid": sid, "seq": seq} if sid is not None else {}
    line: dict[str, object] = {"v": 1, "ts": event["ts"], **place, **event}
    if event_id is not None:
        line["eid"] = event_id
    data = lean_json.compact(line).encode("ascii") + b"\n"
    if len(data) > MAX_LINE:
        raise AppendError(
            "event_too_long",
            f"this event makes a line of {len(data)} bytes; a journal line has at most {MAX_LINE}",
            "write the long part to a file and put its path into the event",
        )
    return data


def timestamp(seconds: float) -> str:
    """A time as the journal writes it: UTC, milliseconds, Z."""
    whole = int(seconds)
    day = time.gmtime(whole)
    return (
        f"{day[0]:04d}-{day[1]:02d}-{day[2]:02d}T{day[3]:02d}:{day[4]:02d}:{day[5]:02d}"
        f".{int((seconds - whole) * 1000):03d}Z"
    )


def _no_room(path: str, error: OSError | None) -> AppendError:
    reason = error.strerror if error is not None else "the write came back short"
    if error is not None and error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return AppendError(
            "append_failed", f"{path}: the event was not written ({reason}); the log is whole", "check the disk"
        )
    return AppendError(
        "disk_full",
        f"{path}: no room for the event ({reason}); the log is whole and nothing was acknowledged",
        "make room on this disk (or raise the file size limit) and try again",
    )
