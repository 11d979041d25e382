"""The normative fold: the lines of a whole journal, de-duplicated first, then run by run in `seq` order.

This is the definition that `stream.py` (one pass, incremental, used on regular journals) is tested against, and it
reads irregular journals (duplicates, lines out of order).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import Blank, Decoded, Malformed, UnknownVersion
from rekindle.core.journal.event import Event
from rekindle.core.journal.run import Disowned, RunState
from rekindle.core.journal.run_events import count, evolve


class JournalState(msgspec.Struct):
    """All that a journal says. `sids` are in the order of their first kept line, strays included."""

    lines: int = 0
    malformed: list[int] = []
    unknown_version: list[int] = []
    duplicates: int = 0
    sids: dict[str, RunState] = {}
    disowned: list[Disowned] = []

    @property
    def runs(self) -> list[RunState]:
        """The runs, oldest first."""
        return [run for run in self.sids.values() if run.is_run]

    @property
    def strays(self) -> list[str]:
        """Sids that are not runs."""
        return [run.sid for run in self.sids.values() if not run.is_run]


class Arrangement:
    """Which line counts for which run: the one set of rules for reading and verifying a journal (rules.py).

    `overridden` are lines with the later line that replaces them. `members` are the lines of each sid in the order of
    the run, `homeless` those without a sid at a place where no run is open.
    """

    def __init__(self, events: list[tuple[int, Event]]) -> None:
        self.overridden = _overridden(events)
        kept = [(line, event) for line, event in events if line not in self.overridden]
        #: every sid in the order of its first kept line, and whether it is a run
        self.is_run: dict[str, bool] = {}
        for _, event in kept:
            if event.sid is not None:
                self.is_run[event.sid] = self.is_run.get(event.sid, False) or ev.makes_run(event.type)
        assigned, self.homeless = _assign(kept, self.is_run)
        self.members = {sid: _in_run_order(items) for sid, items in assigned.items()}

    def fold_into(self, state: JournalState) -> None:
        """Add up the runs."""
        state.duplicates = len(self.overridden)
        for sid, is_run in self.is_run.items():
            run = state.sids[sid] = RunState(sid, is_run=is_run)
            for _, event in self.members[sid]:
                count(run, event.seq, event.feature, event.ts)
                evolve(run, event)


def fold(decoded: Iterable[Decoded]) -> JournalState:
    """Fold a journal's decoded lines, given in file order from the first."""
    return fold_arranged(decoded)[0]


def fold_arranged(decoded: Iterable[Decoded]) -> tuple[JournalState, Arrangement]:
    """The same, with the lines that it was made from."""
    state = JournalState()
    events: list[tuple[int, Event]] = []
    for line, item in enumerate(decoded, start=1):
        state.lines = line
        match item:
            case Event():
                events.append((line, item))
            case Malformed():
                state.malformed.append(line)
            case UnknownVersion():
                state.unknown_version.append(line)
            case Blank():
                pass
    arranged = Arrangement(events)
    arranged.fold_into(state)
    return state, arranged


def _overridden(events: list[tuple[int, Event]]) -> dict[int, int]:
    last: dict[tuple[str, int], int] = {}
    for line, event in events:
        if event.sid is not None and event.seq is not None:
            last[event.sid, event.seq] = line
    return {
        line: last[event.sid, event.seq]
        for line, event in events
        if event.sid is not None and event.seq is not None and last[event.sid, event.seq] != line
    }


_Lines = list[tuple[int, Event]]


def _assign(kept: _Lines, is_run: dict[str, bool]) -> tuple[dict[str, _Lines], _Lines]:
    """Give every event its sid: its own or, if it has none, the newest run that is open at its place."""
    members: dict[str, _Lines] = {}
    homeless: _Lines = []
    begun: dict[str, bool] = {}
    for line, event in kept:
        sid = event.sid
        if sid is None:
            sid = next((name for name in reversed(begun) if not begun[name]), None)
            if sid is None:
                homeless.append((line, event))
                continue
        elif is_run[sid]:
            begun.setdefault(sid, False)
        members.setdefault(sid, []).append((line, event))
        if event.type == ev.SESSION_END and sid in begun:
            begun[sid] = True
    return members, homeless


def _in_run_order(items: _Lines) -> _Lines:
    keyed: list[tuple[int, int, Event]] = []
    anchor = -1
    for line, event in items:
        anchor = event.seq if event.seq is not None else anchor
        keyed.append((anchor, line, event))
    keyed.sort(key=lambda item: item[:2])
    return [(line, event) for _, line, event in keyed]
