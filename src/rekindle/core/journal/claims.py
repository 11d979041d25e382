"""Whose word counts in a run that rekindle drives: only rekindle's. What others wrote is a claim, kept and shown.

An agent's event that comes through our own door is marked as it is written (`append.py`). What somebody put straight
into the file is recognised here, by comparison with the record of what we wrote. That goes for whole runs too: a run
that nobody here began cannot take over one of ours, nor begin while one is under way.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rekindle.core.journal import event as ev
from rekindle.core.journal.event import Event
from rekindle.core.journal.fold import Arrangement, JournalState
from rekindle.core.journal.lineage import Chain
from rekindle.core.journal.orders import CLAIMED, DRIVER, decides
from rekindle.core.journal.run_events import has_a_say

_Events = Sequence[tuple[int, Event]]


def disowned(events: _Events, on_record: Collection[int]) -> list[int]:
    """The lines that would decide something in a run that we drive, and that we did not write.

    `events` is everything that the journal has, by line; `on_record` the lines that we know are ours. A line with the
    place of one of ours (`sid` and `seq`) would be used instead of it, whatever it says, so it counts too.
    """
    driven = _driven(events, on_record)
    taken = {(one.sid, one.seq) for line, one in events if line in on_record and one.sid in driven}
    under_way: set[str | None] = set()
    found = []
    for line, one in events:
        if line in on_record:
            _follow(under_way, one, driven)
        elif one.sid in driven:
            if decides(one.type) or (one.seq is not None and (one.sid, one.seq) in taken):
                found.append(line)
        elif one.sid is None and under_way and decides(one.type):
            found.append(line)
    return found


def intruders(events: _Events, on_record: Collection[int], approved: Collection[str] = ()) -> frozenset[str]:
    """The runs that are not on record and that continue or restart a run of ours, or began while one was under way.

    `events` is everything that the journal has, without the `disowned` lines. Approved are the runs that the user said
    yes to, and any run that a run of ours says it continues.
    """
    driven = _driven(events, on_record)
    strangers = {one.sid for line, one in events if line not in on_record and ev.makes_run(one.type)} - driven
    if not driven or not strangers:
        return frozenset()
    arranged = Arrangement(list(events))
    vouched = {name for line, one in events if line in on_record and one.sid in driven for name in _named(one)}
    begun = _begun_here(events, on_record)
    foreign = {
        sid
        for sid in strangers.difference(vouched, approved)
        if sid is not None and not (sid in begun and _starts_on_record(arranged.members.get(sid, ()), on_record))
    }
    beside = _begun_beside(events, on_record, driven)
    state = JournalState()
    arranged.fold_into(state)
    chain = Chain()
    found = set()
    for run in state.runs:
        if run.sid in foreign and (run.sid in beside or chain.continues(run) in driven):
            found.add(run.sid)
        else:
            chain.add(run)
    return frozenset(found)


def of_intruders(events: _Events, on_record: Collection[int], intruding: Collection[str]) -> list[int]:
    """The lines that make these runs count. If a run's own beginning is on record, only the lines that are not."""
    begun = {one.sid for line, one in events if line in on_record and one.type == ev.SESSION_START}
    return [
        line
        for line, one in events
        if one.sid in intruding
        and not (one.sid in begun and line in on_record)
        and (has_a_say(one.type) or decides(one.type))
    ]


def as_claim(event: Event, *, alone: bool) -> Event:
    """The event as data that nobody acts on. `alone`: no other event has its place."""
    seq = event.seq if alone else None
    return Event(CLAIMED + event.type, event.sid, seq, event.feature, event.ts, event.data, event.eid)


def _driven(events: _Events, on_record: Collection[int]) -> set[str | None]:
    """The runs that we drive. Only a start that is on record proves it."""
    starts = [one for line, one in events if line in on_record and one.type == ev.SESSION_START]
    return {one.sid for one in starts if one.sid is not None and one.data.get("driver") == DRIVER}


def _follow(under_way: set[str | None], event: Event, driven: Collection[str | None]) -> None:
    """Keep track of which of our runs are open, given an event that is on record."""
    if event.sid in driven:
        under_way.difference_update(_named(event))
        if event.type == ev.SESSION_END:
            under_way.discard(event.sid)
        elif event.type == ev.SESSION_START:
            under_way.add(event.sid)


def _named(event: Event) -> list[str]:
    """The runs that a beginning says it continues or restarts."""
    if event.type != ev.SESSION_START:
        return []
    return [name for key in ("resumes", "restarts") if isinstance(name := event.data.get(key), str)]


def _begun_here(events: _Events, on_record: Collection[int]) -> set[str | None]:
    """The runs whose first event is on record. A later one proves little: anybody who asks us may add to any run."""
    first: dict[str | None, bool] = {}
    for line, one in events:
        if ev.makes_run(one.type):
            first.setdefault(one.sid, line in on_record)
    return {sid for sid, is_ours in first.items() if is_ours}


def _starts_on_record(members: _Events, on_record: Collection[int]) -> bool:
    """Whether the start that the run is judged by is on record, if it has one."""
    return next((line in on_record for line, one in members if one.type == ev.SESSION_START and one.sid), True)


def _begun_beside(events: _Events, on_record: Collection[int], driven: Collection[str | None]) -> set[str | None]:
    """The runs that began while one of ours was under way."""
    under_way: set[str | None] = set()
    begun: set[str | None] = set()
    beside: set[str | None] = set()
    for line, one in events:
        if line in on_record:
            _follow(under_way, one, driven)
        if ev.makes_run(one.type) and one.sid not in begun:
            begun.add(one.sid)
            if under_way:
                beside.add(one.sid)
    return beside
