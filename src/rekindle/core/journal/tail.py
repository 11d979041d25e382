"""Who wrote last: the quick look that tells a finished feature from one that may be interrupted.

It sees only the end of a journal, so it is a hint for listings, and the analysis has the last word: an older run
that was left open before a finished one shows up in the analysis but not here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import Decoded
from rekindle.core.journal.event import Event


@dataclass(frozen=True)
class Tail:
    """The run that wrote last, whether its last event ends it, and why it ended."""

    sid: str
    ended: bool
    ts: str | None
    reason: str | None


def last_run(backward: Iterable[Decoded]) -> Tail | None:
    """Go back through decoded lines, last one first, until a run turns up."""
    seen: set[tuple[str, int]] = set()
    ts: str | None = None
    ended = False
    reason: str | None = None
    for item in backward:
        if not isinstance(item, Event):
            continue
        if item.sid is not None and item.seq is not None:
            if (item.sid, item.seq) in seen:
                continue
            seen.add((item.sid, item.seq))
        ts = ts or item.ts
        if item.sid is None:
            if item.type == ev.SESSION_END and not ended:
                ended, reason = True, ev.text(item.data.get("reason"))
        elif item.type == ev.SESSION_END:
            return Tail(item.sid, True, ts, ev.text(item.data.get("reason")))
        elif ev.makes_run(item.type):
            return Tail(item.sid, ended, ts, reason)
    return None
