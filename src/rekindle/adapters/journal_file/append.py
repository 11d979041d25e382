"""The journal's writer: one lock, one write, one sync, and only then an acknowledgement.

Any number of processes may append at once, from any worktree. A line torn by a crash is closed with a newline in the
same write that appends the next event, so nobody's event is glued to it. A write that comes back short is taken back.
Standard library only: the hook client imports this and has to start fast.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from collections.abc import Callable

from rekindle.adapters.journal_file import head as heads

MAX_LINE = 1 << 20
HEAD_NAME = "events.head"
#: The head beside the log is renewed when it is this far behind, so that a hook never has much to catch up with.
_HEAD_LAG = 1 << 16


class AppendError(Exception):
    """The event was not written, or is not known to be on disk. Says what to do next in `hint`."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


class System:
    """The calls that durability hangs on, in one place, so that a test can watch their order and make them fail."""

    write: Callable[[int, bytes], int] = staticmethod(os.write)
    sync: Callable[[int], None] = staticmethod(os.fdatasync)
    truncate: Callable[[int, int], None] = staticmethod(os.ftruncate)


class Appender:
    """One open log. Not for use by several threads at once; any number of processes may have their own."""

    def __init__(self, path: str, *, lock_seconds: float = 30.0, system: System | None = None) -> None:
        self.path = path
        self._head_path = os.path.join(os.path.dirname(path), HEAD_NAME)
        self._lock_seconds = lock_seconds
        self._system = system or System()
        self._fd = -1
        self._head = heads.Head()
        self._stored_at = 0
        self._ids: set[str] | None = None
        self._ids_offset = 0

    def close(self) -> None:
        """Let go of the file. What was acknowledged is on disk already."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def append(
        self,
        event: dict[str, object],
        *,
        sid: str | None,
        event_id: str | None = None,
        fresh: bool = False,
        session: str = "",
    ) -> tuple[str | None, int | None] | None:
        """Append `event` (its envelope without v, sid and seq) and return the (sid, seq) that it got.

        With `sid` None it goes to the newest open run (`session`'s own first), or stands without sid where there is
        none. `fresh` promises that the sid was just made up, so that nobody has to look for it. An event whose
        `event_id` is in the log already is not written again: the return value is then None.
        The event is *not* on disk before `sync` has returned.
        """
        self._lock()
        try:
            size = self._refresh(sid, fresh=fresh)
            if event_id is not None and self._has_id(event_id, size):
                return None
            if sid is None:
                sid = self._head.open_run(session)
            seq = self._head.next_seq(sid) if sid is not None else None
            line = encode(event, sid, seq, event_id)
            torn = size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"
            self._write(b"\n" + line if torn else line, size)
            self._advance(size)
            return sid, seq
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def sync(self) -> None:
        """Put everything that was appended so far on disk. Whoever acknowledges an event calls this first."""
        try:
            self._system.sync(self._fd)
        except OSError as error:
            raise AppendError(
                "not_synced",
                f"{self.path}: the disk did not confirm the event ({error.strerror})",
                "check the disk; the event may or may not survive a power loss",
            ) from error

    def open_runs(self) -> heads.Head:
        """The writer's view of the log, brought up to date."""
        self._lock()
        try:
            self._refresh(None, fresh=False)
            return self._head
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _lock(self) -> None:
        while True:
            if self._fd < 0:
                self._open()
            self._flock()
            try:
                current = os.stat(self.path).st_ino
            except FileNotFoundError:
                current = -1
            if current == os.fstat(self._fd).st_ino:
                return
            self.close()  # repaired or moved away under us: take the one that is there now
            self._head, self._ids, self._ids_offset = heads.Head(), None, 0

    def _open(self) -> None:
        folder = os.path.dirname(self.path)
        try:
            _make_folder(folder)
            try:
                self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            except FileNotFoundError:
                self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_CREAT, 0o644)
                _sync_folder(folder)
        except OSError as error:
            raise AppendError(
                "journal_unwritable",
                f"{self.path}: cannot be opened for writing ({error.strerror})",
                "check the permissions of the progress folder",
            ) from error

    def _flock(self) -> None:
        deadline = time.monotonic() + self._lock_seconds
        pause = 0.0002
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise AppendError(
                        "journal_locked",
                        f"{self.path}: another process has held the journal's lock for {self._lock_seconds:g} s",
                        "see who with `lsof` or `fuser` on that file; a stopped writer is continued with `kill -CONT`",
                    ) from None
                time.sleep(pause)
                pause = min(pause * 1.5, 0.004)
            except OSError as error:
                raise AppendError(
                    "journal_unlockable",
                    f"{self.path}: this file system has no working locks ({error.strerror})",
                    "keep the repository on a local file system",
                ) from error

    def _refresh(self, sid: str | None, *, fresh: bool) -> int:
        status = os.fstat(self._fd)
        head = self._head
        if head.inode != status.st_ino or head.offset > status.st_size:
            head = self._head = heads.load(self._head_path, self._fd, status.st_size, status.st_ino)
            self._stored_at = head.offset
        if sid is not None and not fresh and not head.knows(sid):
            head = self._head = heads.Head()
            head.inode = status.st_ino
        head.catch_up(self._fd, status.st_size)
        if head.offset - self._stored_at > _HEAD_LAG:
            heads.store(self._head_path, head, self._fd)
            self._stored_at = head.offset
        return status.st_size

    def _advance(self, size: int) -> None:
        if self._head.offset == size or size == 0:
            self._head.catch_up(self._fd, os.fstat(self._fd).st_size)

    def _has_id(self, event_id: str, size: int) -> bool:
        if self._ids is None:
            self._ids = set()
        while self._ids_offset < size:
            block = os.pread(self._fd, max(_HEAD_LAG, MAX_LINE + 2), self._ids_offset)
            cut = block.rfind(b"\n") + 1
            if not cut:
                break
            at = block.find(b'"eid":', 0, cut)
            while at >= 0:
                start, end = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
                event = heads.parse(block[start:end])
                found = event.get("eid") if event else None
                if isinstance(found, str):
                    self._ids.add(found)
                at = block.find(b'"eid":', end, cut)
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


def encode(event: dict[str, object], sid: str | None, seq: int | None, event_id: str | None) -> bytes:
    """The line of an event, newline included."""
    line: dict[str, object] = {"v": 1, "ts": event["ts"]}
    if sid is not None:
        line["sid"] = sid
        line["seq"] = seq
    line["type"] = event["type"]
    line.update((key, event.get(key)) for key in ("feature", "agent", "pane_id", "data"))
    if event_id is not None:
        line["eid"] = event_id
    text = json.dumps(line, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    data = text.encode("ascii") + b"\n"
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
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{int((seconds - whole) * 1000):03d}Z"


def _no_room(path: str, error: OSError | None) -> AppendError:
    reason = error.strerror if error is not None else "the write came back short"
    if error is not None and error.errno not in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
        return AppendError(
            "append_failed",
            f"{path}: the event was not written ({reason}); the log is whole",
            "check the disk",
        )
    return AppendError(
        "disk_full",
        f"{path}: no room for the event ({reason}); the log is whole and nothing was acknowledged",
        "make room on this disk (or raise the file size limit) and try again",
    )


def _make_folder(folder: str) -> None:
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if parent and parent != folder:
        _make_folder(parent)
    try:
        os.mkdir(folder)
    except FileExistsError:
        return
    _sync_folder(parent)


def _sync_folder(folder: str) -> None:
    fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
