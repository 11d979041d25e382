"""What a writer must know of the log before it appends: the highest `seq` of each sid, and which runs are open.

Finding that out by reading the whole log would make every append as slow as the log is long, so the answer is kept
beside it in `events.head`. That file is a cache and nothing more: it is checked against the log, brought up to date
from the bytes written since, and rebuilt when in doubt. Standard library only (the hook client imports this).
"""

from __future__ import annotations

import os
import zlib

from rekindle import files
from rekindle.core import lean_json
from rekindle.core.journal.decode import BOM, decode_line
from rekindle.core.journal.event import SESSION_END, SESSION_START, Event, makes_run
from rekindle.core.journal.orders import DRIVER

_KEYS = (b'"v":', b'"sid":', b'"seq":', b'"type":')
_BEGIN = [b"{", b"v", b":1,", b"ts", b":"]
_SID = [b",", b"sid", b":"]
_SEQ = [b",", b"seq"]
_TYPE = [b"type", b":"]
_NO_SID = b'{"v":1,"ts":"'
_ENDS = SESSION_END.encode()
_CHECKED = 512
_BLOCK = 1 << 20
#: Larger than any head that we store.
_LONGEST = 8 << 20
#: How many sids the file beside the log remembers, besides the open runs. A hook parses it on every call.
_REMEMBERED = 100


class Sid:
    """What a writer needs to know about one sid."""

    __slots__ = ("continued", "driven", "ended", "is_run", "last_seq", "last_type", "session")

    def __init__(
        self,
        last_seq: int,
        is_run: bool,
        ended: bool,
        session: str,
        last_type: str,
        driven: bool = False,
        continued: bool = False,
    ) -> None:
        self.last_seq = last_seq
        self.is_run = is_run
        self.ended = ended
        self.session = session
        self.last_type = last_type
        self.driven = driven
        self.continued = continued

    @property
    def is_open(self) -> bool:
        """A run that has begun and not ended."""
        return self.is_run and not self.ended


class Head:
    """The writer's view of a log up to `offset`, which always stands behind a newline."""

    def __init__(self, inode: int = 0) -> None:
        self.inode = inode
        self.offset = 0
        self.sids: dict[str, Sid] = {}
        #: whether every sid of the log is in `sids`
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
            if sid.is_open:
                if session and sid.session == session:
                    return name
                newest = newest or name
        return newest

    def only_claims(self, sid: str | None) -> bool:
        """Whether what an agent says about this run is only a claim, because rekindle drives it.

        Nor may an agent start a new run as long as rekindle drives one here.
        """
        known = self.sids.get(sid) if sid is not None else None
        if known is not None and known.is_run:
            return known.driven
        return any(one.driven and one.is_open and not one.continued for one in self.sids.values())

    @property
    def has_driven(self) -> bool:
        """Whether there is a run that rekindle drives or drove."""
        return any(one.driven for one in self.sids.values())

    def catch_up(self, fd: int, size: int, most: int | None = None) -> bool:
        """Read what was written since, at most about `most` bytes of it; whether that was all.

        `size` is the length of the log now. A last line without a newline is taken in too if it is an event: the reader
        counts it, and the next writer ends it. Taking it in again later changes nothing.
        """
        began = self.offset
        while self.offset < size:
            if most is not None and self.offset - began >= most:
                return False
            block = os.pread(fd, min(_BLOCK, size - self.offset), self.offset)
            cut = block.rfind(b"\n") + 1
            if not cut and block:
                block = line_at(fd, self.offset, size)
                cut = block.rfind(b"\n") + 1
            start = len(BOM) if self.offset == 0 and block.startswith(BOM) else 0
            if not cut:
                self._take(block[start:])
                return True
            for line in block[start : cut - 1].split(b"\n"):
                self._take(line)
            self.offset += cut
        return True

    def wrote(self, sid: str, seq: int, event: dict[str, object], length: int) -> None:
        """Take in an event that was just written at `offset`, without reading it."""
        self._note(sid, seq, str(event["type"]))
        data = event.get("data")
        if event["type"] == SESSION_START and isinstance(data, dict):
            self._begins(sid, data)
        self.offset += length

    def _take(self, line: bytes) -> None:
        found = _canonical(line)
        if found is not None and _is_flat(line) and found[2] != SESSION_START:
            self._note(*found)
            return
        if found is None and _is_plainly_without_sid(line):
            return  # whether it is an event or not: without a sid, only an end says something to a writer
        event = decode_line(line)
        if not isinstance(event, Event):
            return
        if event.sid is not None:
            self._note(event.sid, event.seq, event.type)
            if event.type == SESSION_START:
                self._begins(event.sid, event.data)
        elif event.type == SESSION_END:
            ended = self.open_run()
            if ended is not None:
                self.sids[ended].ended = True

    def _begins(self, name: str, data: dict[str, object]) -> None:
        sid, session = self.sids[name], data.get("session_id")
        sid.session = sid.session or (session if isinstance(session, str) else "")
        sid.driven = sid.driven or data.get("driver") == DRIVER
        for key in ("resumes", "restarts"):
            other = data.get(key)
            if isinstance(other, str) and other in self.sids and other != name:
                self.sids[other].continued = True

    def _note(self, name: str, seq: int | None, type_: str) -> None:
        sid = self.sids.get(name)
        if sid is None:
            sid = self.sids[name] = Sid(-1, False, False, "", "")
        if seq is not None and seq > sid.last_seq:
            sid.last_seq = seq
        sid.last_type = type_
        sid.is_run = sid.is_run or makes_run(type_)
        sid.ended = sid.ended or type_ == SESSION_END


def _canonical(line: bytes) -> tuple[str, int, str] | None:
    """Sid, seq and type of a line that begins exactly as `append.py` writes it: a candidate for the fast way.

    By hand, because the hook client would pay for a compiled pattern on every tool call.
    """
    part = line.split(b'"', 16)
    if len(part) != 17 or part[:5] != _BEGIN or part[6:9] != _SID or part[10:12] != _SEQ or part[13:15] != _TYPE:
        return None
    number = part[12][1:-1]
    if not (part[12].startswith(b":") and part[12].endswith(b",") and number.isdigit()) or not part[9]:
        return None
    if number != b"0" and number.startswith(b"0"):
        return None
    return part[9].decode("ascii", "replace"), int(number), part[15].decode("ascii", "replace")


def _is_plainly_without_sid(line: bytes) -> bool:
    """Whether a line says nothing of any run, whatever it is. A name that hides behind escapes is not plain."""
    return line.startswith(_NO_SID) and b"\\" not in line and b'"sid"' not in line and _ENDS not in line


def _is_flat(line: bytes) -> bool:
    """Whether a canonical line is plainly whole: two objects, no more, closed at its very end.

    A torn line cannot look like this: both closing braces would have to stand in one string, and that string would be
    open. Nor can a key of the envelope have been given twice. Anything else is decoded.
    """
    return (
        line.endswith(b"}}")
        and line.count(b"{") == 2 == line.count(b"}")
        and line.isascii()
        and b"\\" not in line
        and line.count(b'"') % 2 == 0
        and all(line.count(key) == 1 for key in _KEYS)
    )


def line_at(fd: int, start: int, size: int) -> bytes:
    """A line that is longer than a block, with its newline if it has one, and what was read behind it."""
    block = b""
    while start + len(block) < size:
        more = os.pread(fd, _BLOCK, start + len(block))
        if not more:
            break
        block += more
        if b"\n" in more:
            break
    return block


def load(path: str, fd: int, size: int, inode: int) -> Head:
    """The head kept at `path` if it still fits this log, else an empty one that starts at the beginning."""
    head = Head(inode)
    try:
        digest, _, body = files.read_short(path, _LONGEST).partition(b"\n")
        if digest != _digest(body):
            return head
        kept = lean_json.loads(body)
        offset = kept["offset"]
        fits = kept["v"] == 3 and kept["inode"] == inode and type(offset) is int and 0 <= offset <= size
        if not fits or kept["crc"] != _crc(fd, offset):
            return head
        sids = {name: Sid(*values) for name, values in kept["sids"].items()}
        head.sids, head.offset, head.complete = sids, offset, kept["complete"] is True
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Head(inode)
    return head


def store(path: str, head: Head, fd: int) -> None:
    """Keep the head for the next writer. A failure costs time later and nothing else."""
    newest = set(list(head.sids)[-_REMEMBERED:])
    kept = {name: sid for name, sid in head.sids.items() if name in newest or sid.is_open}
    document = {
        "v": 3,
        "inode": head.inode,
        "offset": head.offset,
        "crc": _crc(fd, head.offset),
        "complete": head.complete and len(kept) == len(head.sids),
        "sids": {
            name: [s.last_seq, s.is_run, s.ended, s.session, s.last_type, s.driven, s.continued]
            for name, s in kept.items()
        },
    }
    try:
        body = lean_json.compact(document).encode()
        files.replace(path, _digest(body) + b"\n" + body)
    except OSError:
        pass


def _digest(body: bytes) -> bytes:
    return b"%08x" % zlib.crc32(body)


def _crc(fd: int, offset: int) -> int:
    start = max(0, offset - _CHECKED)
    return zlib.crc32(os.pread(fd, offset - start, start))
