"""The normative fold: the lines of a whole journal, de-duplicated first, then run by run in `seq` order.

This is the definition that `stream.py` (one pass, incremental, used on regular journals) is tested against, and
what irregular journals (duplicates, lines out of order) are read with.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import Blank, Decoded, Malformed, UnknownVersion
from rekindle.core.journal.event import Event
from rekindle.core.journal.run import RunState, count, evolve


class JournalState(msgspec.Struct):
    """All that a journal says. `sids` stand in the order of their first kept line, strays included."""

    lines: int = 0
    malformed: list[int] = []
    unknown_version: list[int] = []
    duplicates: int = 0
    sids: dict[str, RunState] = {}

    @property
    def runs(self) -> list[RunState]:
        """The runs, oldest first."""
        return [run for run in self.sids.values() if run.is_run]

    @property
    def strays(self) -> list[str]:
        """Sids that are no run."""
        return [run.sid for run in self.sids.values() if not run.is_run]


def fold(decoded: Iterable[Decoded]) -> JournalState:
    """Fold a journal's decoded lines, given in file order from the first."""
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
    kept = _without_overridden(events)
    state.duplicates = len(events) - len(kept)
    for _, event in kept:
        if event.sid is not None:
            run = state.sids.setdefault(event.sid, RunState(event.sid))
            run.is_run = run.is_run or ev.makes_run(event.type)
    for sid, members in _in_run_order(_assign(kept, state.sids)).items():
        run = state.sids[sid]
        for event in members:
            count(run, event.seq, event.feature, event.ts)
            evolve(run, event)
    return state


def _without_overridden(events: list[tuple[int, Event]]) -> list[tuple[int, Event]]:
    last: dict[tuple[str, int], int] = {}
    for line, event in events:
        if event.sid is not None and event.seq is not None:
            last[event.sid, event.seq] = line
    return [
        (line, event)
        for line, event in events
        if event.sid is None or event.seq is None or last[event.sid, event.seq] == line
    ]


def _assign(kept: list[tuple[int, Event]], sids: dict[str, RunState]) -> dict[str, list[tuple[int, Event]]]:
    """Give every event its sid: its own or, where it has none, the newest run that is open at its place."""
    members: dict[str, list[tuple[int, Event]]] = {}
    begun: dict[str, bool] = {}
    for line, event in kept:
        sid = event.sid
        if sid is None:
            sid = next((name for name in reversed(begun) if not begun[name]), None)
            if sid is None:
                continue
        elif sids[sid].is_run:
            begun.setdefault(sid, False)
        members.setdefault(sid, []).append((line, event))
        if event.type == ev.SESSION_END and sid in begun:
            begun[sid] = True
    return members


def _in_run_order(members: dict[str, list[tuple[int, Event]]]) -> dict[str, list[Event]]:
    ordered: dict[str, list[Event]] = {}
    for sid, items in members.items():
        keyed: list[tuple[int, int, Event]] = []
        anchor = -1
        for line, event in items:
            anchor = event.seq if event.seq is not None else anchor
            keyed.append((anchor, line, event))
        keyed.sort(key=lambda item: item[:2])
        ordered[sid] = [event for _, _, event in keyed]
    return ordered
