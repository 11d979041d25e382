"""Whose word counts in a run that rekindle drives: its own. What others wrote into it is a claim, kept and shown.

Through our own door an agent's event gets its mark as it is written (`append.py`). What somebody put straight into the
file is told apart here, by the record of what we wrote ourselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rekindle.core.journal import event as ev
from rekindle.core.journal.event import Event
from rekindle.core.journal.orders import CLAIMED, DRIVER, decides


def disowned(events: Sequence[tuple[int, Event]], on_record: Collection[int]) -> list[int]:
    """The lines that would decide something in a run that we drive, and that we did not write.

    `events` are all that the journal has, by line; `on_record` the lines that we know to be our own. A line with the
    place of one of ours (`sid` and `seq`) would be used instead of it, whatever it says, so it counts too.
    """
    driven = {one.sid for line, one in events if line in on_record and _begins_driven(one)}
    taken = {(one.sid, one.seq) for line, one in events if line in on_record and one.sid in driven}
    under_way: set[str | None] = set()
    found = []
    for line, one in events:
        if line in on_record:
            if one.sid in driven:
                (under_way.discard if one.type == ev.SESSION_END else under_way.add)(one.sid)
        elif one.sid in driven:
            if decides(one.type) or (one.seq is not None and (one.sid, one.seq) in taken):
                found.append(line)
        elif one.sid is None and under_way and decides(one.type):
            found.append(line)
    return found


def as_claim(event: Event, *, alone: bool) -> Event:
    """The event as data that nobody acts on. `alone`: no other event has its place."""
    seq = event.seq if alone else None
    return Event(CLAIMED + event.type, event.sid, seq, event.feature, event.ts, event.data, event.eid)


def _begins_driven(event: Event) -> bool:
    return event.sid is not None and event.type == ev.SESSION_START and event.data.get("driver") == DRIVER
