"""Reads a journal so that only our own word counts in the runs that we drive: what others slipped in is a claim."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rekindle.adapters import files
from rekindle.adapters.journal_file import blocks
from rekindle.adapters.journal_file.ledger import Ledger, lines_of, may_decide
from rekindle.adapters.journal_file.read import read_state
from rekindle.adapters.journal_file.snapshot import SnapshotCache
from rekindle.core.journal.claims import as_claim, disowned
from rekindle.core.journal.decode import Decoded, decode_line
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import JournalState, fold
from rekindle.core.journal.orders import decides
from rekindle.core.journal.run import Disowned


class ProvenReader:
    """One journal, read again and again. What it has looked at once and found in order is not looked at again."""

    def __init__(self, path: Path, ledger: Ledger | None, snapshots: SnapshotCache | None) -> None:
        self._path = path
        self._ledger = ledger
        self._snapshots = snapshots
        self._inode = -1
        self._offset = 0

    def state(self) -> JournalState:
        """What the journal says, without what others say in our runs. Raises OSError."""
        state = read_state(self._path, self._snapshots)
        driven = frozenset(run.sid for run in state.runs if run.is_driven)
        if self._ledger is None or not driven:
            return state
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
                    if may_decide(line) and not known(line) and _decides_in(line, driven):
                        return False
                if block.endswith(b"\n"):
                    self._offset = behind
        finally:
            os.close(fd)
        return True

    def _slow(self, ledger: Ledger) -> JournalState:
        decoded, found = told_apart(lines_of(str(self._path)), ledger)
        state = fold(decoded)
        state.disowned = found
        return state


def told_apart(lines: Iterable[bytes], ledger: Ledger) -> tuple[list[Decoded], list[Disowned]]:
    """The decoded lines of a journal, what others slipped into our runs made into claims; and those lines."""
    known = ledger.written()
    decoded: list[Decoded] = []
    ours: set[int] = set()
    for number, line in enumerate(lines, start=1):
        one = decode_line(line)
        decoded.append(one)
        if isinstance(one, Event) and decides(one.type) and known(line):
            ours.add(number)
    events = [(number, one) for number, one in enumerate(decoded, start=1) if isinstance(one, Event)]
    places = Counter((one.sid, one.seq) for _, one in events)
    found: list[Disowned] = []
    for number in disowned(events, ours):
        one = decoded[number - 1]
        assert isinstance(one, Event)
        decoded[number - 1] = as_claim(one, alone=places[one.sid, one.seq] == 1)
        found.append(Disowned(number, one.sid, one.type))
    return decoded, found


def _decides_in(line: bytes, driven: frozenset[str]) -> bool:
    event = decode_line(line)
    return isinstance(event, Event) and decides(event.type) and (event.sid is None or event.sid in driven)
