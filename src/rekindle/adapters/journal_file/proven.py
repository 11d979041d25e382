"""Reads a journal so that only our own word counts in the runs that we drive: what others slipped in is a claim."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rekindle import files
from rekindle.adapters.journal_file import blocks
from rekindle.adapters.journal_file.ledger import Ledger, fingerprint_of_run, may_decide
from rekindle.adapters.journal_file.read import read_state
from rekindle.adapters.journal_file.snapshot import SnapshotCache, probe
from rekindle.core.journal import event as ev
from rekindle.core.journal.claims import as_claim, disowned, intruders, of_intruders
from rekindle.core.journal.decode import Decoded, decode_line
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import JournalState, fold
from rekindle.core.journal.orders import DRIVER, decides
from rekindle.core.journal.run import Disowned
from rekindle.core.journal.stream import Irregular, StreamFold

_decode_state = msgspec.msgpack.Decoder(JournalState).decode


@dataclass(frozen=True)
class _Kept:
    """What was told apart up to `offset`, and what that was decided by."""

    inode: int
    offset: int
    probe: bytes
    approvals: frozenset[str]
    state: bytes


class ProvenReader:
    """One journal, read again and again. What it has looked at once is not looked at again, in order or not."""

    def __init__(self, path: Path, ledger: Ledger | None, snapshots: SnapshotCache | None) -> None:
        self._path = path
        self._ledger = ledger
        self._snapshots = snapshots
        self._inode = -1
        self._offset = 0
        self._kept: _Kept | None = None

    def state(self) -> JournalState:
        """What the journal says, without what others say in our runs. Raises OSError."""
        if self._ledger is None or not self._ledger.drives:
            return read_state(self._path, self._snapshots)
        if self._kept is not None:
            further = self._from_kept(self._ledger, self._kept)
            return further if further is not None else self._slow(self._ledger)
        state = read_state(self._path, self._snapshots)
        driven = frozenset(run.sid for run in state.runs if run.is_driven)
        is_plain = not state.duplicates and self._is_plain(self._ledger, driven)
        return state if is_plain else self._slow(self._ledger)

    def _is_plain(self, ledger: Ledger, driven: frozenset[str]) -> bool:
        """Whether nothing of what was written since the last look could be a claim. A quick look is enough for that."""
        known = ledger.written()
        fd = files.open_to_read(self._path, follow=False)
        try:
            status = os.fstat(fd)
            if status.st_ino != self._inode or status.st_size < self._offset:
                self._inode, self._offset = status.st_ino, 0
            for block, behind in blocks.forward(fd, self._offset, status.st_size):
                for line in block.removesuffix(b"\n").split(b"\n"):
                    if may_decide(line) and not known(line) and _is_suspect(decode_line(line), driven):
                        return False
                if block.endswith(b"\n"):
                    self._offset = behind
        finally:
            os.close(fd)
        return True

    def _slow(self, ledger: Ledger) -> JournalState:
        """Look at every line, and keep what came of it."""
        self._kept = None
        approvals = ledger.approvals()
        fd = files.open_to_read(self._path, follow=False)
        try:
            size = os.fstat(fd).st_size
            lines: list[bytes] = []
            is_whole = True
            for block, _ in blocks.forward(fd, 0, size):
                is_whole = block.endswith(b"\n")
                lines.extend(block.removesuffix(b"\n").split(b"\n"))
            decoded, found = told_apart(lines, ledger)
            state = fold(decoded)
            state.disowned = found
            if is_whole:
                self._keep(fd, size, approvals, state)
        finally:
            os.close(fd)
        return state

    def _from_kept(self, ledger: Ledger, kept: _Kept) -> JournalState | None:
        """The kept state with what was written since. None if that could change what was told apart."""
        if ledger.approvals() != kept.approvals:
            return None
        known = ledger.written()
        fd = files.open_to_read(self._path, follow=False)
        try:
            status = os.fstat(fd)
            if status.st_ino != kept.inode or status.st_size < kept.offset or probe(fd, kept.offset) != kept.probe:
                return None
            stream = StreamFold(_decode_state(kept.state))
            judge = _Judge(stream.state, known)
            for block, behind in blocks.forward(fd, kept.offset, status.st_size):
                if any(map(judge.is_suspect, block.split(b"\n"))):
                    return None
                if block.endswith(b"\n"):
                    stream.feed(block)
                    self._keep(fd, behind, kept.approvals, stream.state)
                else:
                    stream.feed_last(block)
            return stream.state
        except Irregular:
            return None
        finally:
            os.close(fd)

    def _keep(self, fd: int, offset: int, approvals: frozenset[str], state: JournalState) -> None:
        try:
            for run in state.sids.values():
                run.pack()
            packed = msgspec.msgpack.encode(state)
        except (UnicodeEncodeError, OverflowError):
            self._kept = None
            return
        self._kept = _Kept(os.fstat(fd).st_ino, offset, probe(fd, offset), approvals, packed)


class _Judge:
    """Tells of later lines whether they need all of the journal to be judged by."""

    def __init__(self, state: JournalState, known: Callable[[bytes], bool]) -> None:
        self._known = known
        self._runs = frozenset(run.sid for run in state.runs)
        self._driven = frozenset(run.sid for run in state.runs if run.is_driven)
        self._intruding = frozenset(one.sid for one in state.disowned if one.intruder)

    def is_suspect(self, line: bytes) -> bool:
        if not self._intruding and not may_decide(line):
            return False
        event = decode_line(line)
        if not isinstance(event, Event):
            return False
        if event.sid in self._intruding or event.type in (ev.SESSION_START, ev.SESSION_END):
            return True
        if ev.makes_run(event.type) and event.sid not in self._runs:
            return True
        return _is_suspect(event, self._driven) and not self._known(line)


def told_apart(lines: Iterable[bytes], ledger: Ledger) -> tuple[list[Decoded], list[Disowned]]:
    """The decoded lines of a journal, what others slipped into our runs made into claims; and those lines."""
    known = ledger.written()
    decoded: list[Decoded] = []
    raw: list[bytes] = []
    ours: set[int] = set()
    for number, line in enumerate(lines, start=1):
        one = decode_line(line)
        raw.append(line)
        decoded.append(one)
        if isinstance(one, Event) and decides(one.type) and known(line):
            ours.add(number)
    places = Counter((one.sid, one.seq) for one in decoded if isinstance(one, Event))
    found: list[Disowned] = []

    def disown(numbers: Iterable[int], yes: Mapping[str, str]) -> None:
        for number in numbers:
            one = decoded[number - 1]
            assert isinstance(one, Event)
            decoded[number - 1] = as_claim(one, alone=places[one.sid, one.seq] == 1)
            found.append(Disowned(number, one.sid, one.type, yes.get(one.sid or "", "")))

    disown(disowned(_events(decoded), ours), {})
    events = _events(decoded)
    yes = _fingerprints(events, raw, intruders(events, ours))
    approvals = ledger.approvals()
    approved = {sid for sid, print_ in yes.items() if print_ in approvals}
    intruding = intruders(events, ours, approved) if approved else frozenset(yes)
    disown(of_intruders(events, ours, intruding), yes)
    return decoded, sorted(found, key=lambda one: one.line)


def own_events(lines: Iterable[bytes], ledger: Ledger) -> list[Event]:
    """What we wrote ourselves in runs that we drive, in the order of the file."""
    known = ledger.written()
    ours = (decode_line(line) for line in lines if may_decide(line) and known(line))
    found = [one for one in ours if isinstance(one, Event) and decides(one.type)]
    driven = {one.sid for one in found if one.type == ev.SESSION_START and one.data.get("driver") == DRIVER}
    return [one for one in found if one.sid in driven]


def _events(decoded: list[Decoded]) -> list[tuple[int, Event]]:
    return [(number, one) for number, one in enumerate(decoded, start=1) if isinstance(one, Event)]


def _fingerprints(events: list[tuple[int, Event]], raw: list[bytes], sids: Collection[str]) -> dict[str, str]:
    """What a yes to each of these runs is remembered by: all of its lines."""
    return {sid: fingerprint_of_run(raw[number - 1] for number, one in events if one.sid == sid) for sid in sids}


def _is_suspect(event: Decoded, driven: Collection[str]) -> bool:
    """Whether an event that is not on record may be a claim, or begin a run that is not ours."""
    if not isinstance(event, Event):
        return False
    return decides(event.type) or (event.sid not in driven and ev.makes_run(event.type))
