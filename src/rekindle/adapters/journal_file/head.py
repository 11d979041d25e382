"""What a writer must know of the log before it appends: the highest `seq` of each sid, and which runs are open.

Finding that out by reading the whole log would make every append as slow as the log is long, so the answer is kept
beside it in `events.head`. That file is a cache and nothing more: it is checked against the log, brought up to date
from the bytes written since, and rebuilt when in doubt. Standard library only (the hook client imports this).
"""

from __future__ import annotations

import json
import os
import re
import zlib

#: A line exactly as `append.py` writes it, up to its type. The fast way to read a line; others are parsed.
_CANONICAL = re.compile(
    rb'\{"v":1,"ts":"[0-9TZ:.+-]{1,40}","sid":"([0-9A-Za-z_-]{1,64})","seq":(0|[1-9][0-9]{0,17}),"type":"([a-z_.]{1,64})",'
)
_RUN_TYPES = ("plan.", "task.", "agent.")
_CHECKED = 512
_BLOCK = 1 << 20
#: How many sids the file beside the log remembers. A hook parses it on every call, so it stays small.
_REMEMBERED = 200


class Sid:
    """What matters of one sid to a writer."""

    __slots__ = ("ended", "is_run", "last_seq", "last_type", "session")

    def __init__(
        self,
        last_seq: int = -1,
        *,
        is_run: bool = False,
        ended: bool = False,
        session: str = "",
        last_type: str = "",
    ) -> None:
        self.last_seq = last_seq
        self.last_type = last_type
        self.is_run = is_run
        self.ended = ended
        self.session = session


class Head:
    """The writer's view of a log up to `offset`, which always stands behind a newline."""

    def __init__(self) -> None:
        self.inode = 0
        self.offset = 0
        self.sids: dict[str, Sid] = {}
        self.complete = True

    def next_seq(self, sid: str) -> int:
        """The number that the next event of this sid gets."""
        known = self.sids.get(sid)
        return known.last_seq + 1 if known is not None else 0

    def knows(self, sid: str) -> bool:
        """Whether `next_seq` can be trusted for this sid."""
        return self.complete or sid in self.sids

    def open_run(self, session: str = "") -> str | None:
        """The newest run that has begun and not ended; the one of this agent session first, if there is one."""
        newest = None
        for name, sid in reversed(self.sids.items()):
            if sid.is_run and not sid.ended:
                if session and sid.session == session:
                    return name
                newest = newest or name
        return newest

    def catch_up(self, fd: int, size: int) -> None:
        """Read what was written since. `size` is the length of the log now."""
        while self.offset < size:
            block = os.pread(fd, min(_BLOCK, size - self.offset), self.offset)
            cut = block.rfind(b"\n") + 1
            if not cut:
                block = _long_line(fd, self.offset, size)
                cut = block.rfind(b"\n") + 1
                if not cut:
                    self._take(block)  # torn, or whole but for its newline, which the next writer adds
                    return
            for line in block[: cut - 1].split(b"\n"):
                self._take(line)
            self.offset += cut

    def _take(self, line: bytes) -> None:
        found = _CANONICAL.match(line)
        if found is not None and _is_flat(line):
            name, seq, type_ = found[1].decode(), int(found[2]), found[3].decode()
            if type_ == "session.start":
                self._note(name, seq, type_, _session_in(line))
            else:
                self._note(name, seq, type_, "")
            return
        event = parse(line)
        if event is None:
            return
        sid, at, kind = event.get("sid"), event.get("seq"), event["type"]
        if not isinstance(kind, str):
            return
        if isinstance(sid, str) and sid:
            self._note(sid, at if isinstance(at, int) else -1, kind, _session_in(line))
        elif kind == "session.end":
            ended = self.open_run()
            if ended is not None:
                self.sids[ended].ended = True

    def _note(self, name: str, seq: int, type_: str, session: str) -> None:
        sid = self.sids.get(name)
        if sid is None:
            sid = self.sids[name] = Sid()
        sid.last_seq = max(sid.last_seq, seq)
        sid.last_type = type_
        sid.session = sid.session or session
        if type_ in ("session.start", "checkpoint") or type_.startswith(_RUN_TYPES):
            sid.is_run = True
        elif type_ == "session.end":
            sid.ended = True


def _is_flat(line: bytes) -> bool:
    """Whether a canonical line is plainly whole: two objects, no more, closed at its very end.

    A torn line cannot look like this: both closing braces would have to stand in one string, and that string would be
    open. Nor can a key of the envelope have been given twice. Anything else is parsed.
    """
    return (
        line.endswith(b"}}")
        and line.count(b"{") == 2 == line.count(b"}")
        and b"\\" not in line
        and line.count(b'"') % 2 == 0
        and all(line.count(key) == 1 for key in (b'"v":', b'"sid":', b'"seq":', b'"type":'))
    )


def _long_line(fd: int, start: int, size: int) -> bytes:
    block = b""
    while b"\n" not in block[-_BLOCK:] and start + len(block) < size:
        more = os.pread(fd, _BLOCK, start + len(block))
        if not more:
            break
        block += more
    return block


def parse(line: bytes) -> dict[str, object] | None:
    """The event that a line holds, if the reader's rules let it count."""
    try:
        event = json.loads(line.strip(b" \t\r").decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        return None
    seq, version = event.get("seq"), event.get("v", 1)
    if seq is not None and (type(seq) is not int or seq < 0):
        return None
    return event if type(version) is int and version == 1 else None


def _refuse(name: str) -> None:
    raise ValueError(name)


def _session_in(line: bytes) -> str:
    if b'"session_id"' not in line:
        return ""
    event = parse(line)
    data = event.get("data") if event else None
    session = data.get("session_id") if isinstance(data, dict) else None
    return session if isinstance(session, str) else ""


def load(path: str, fd: int, size: int, inode: int) -> Head:
    """The head kept at `path` if it still fits this log, else an empty one that starts at the beginning."""
    head = Head()
    head.inode = inode
    try:
        with open(path, "rb") as file:
            kept = json.loads(file.read())
        offset, crc, sids = kept["offset"], kept["crc"], kept["sids"]
        if kept["v"] != 1 or kept["inode"] != inode or not 0 <= offset <= size or crc != _crc(fd, offset):
            return head
        head.sids = {
            name: Sid(seq, is_run=run, ended=ended, session=session, last_type=type_)
            for name, (seq, run, ended, session, type_) in sids.items()
        }
        head.offset, head.complete = offset, kept["complete"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        head = Head()
        head.inode = inode
    return head


def store(path: str, head: Head, fd: int) -> None:
    """Keep the head for the next writer. A failure costs time later and nothing else."""
    names = list(head.sids)[-_REMEMBERED:]
    kept = {
        "v": 1,
        "inode": head.inode,
        "offset": head.offset,
        "crc": _crc(fd, head.offset),
        "complete": head.complete and len(names) == len(head.sids),
        "sids": {n: [s.last_seq, s.is_run, s.ended, s.session, s.last_type] for n in names for s in (head.sids[n],)},
    }
    temporary = f"{path}.{os.getpid()}"
    try:
        target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            os.write(target, json.dumps(kept).encode())
        finally:
            os.close(target)
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass


def _crc(fd: int, offset: int) -> int:
    start = max(0, offset - _CHECKED)
    return zlib.crc32(os.pread(fd, offset - start, start))
