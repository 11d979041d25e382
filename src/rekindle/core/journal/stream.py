"""The fast fold: one pass over regular journals, which can be stopped, stored and continued.

A journal is *regular* while every line of a sid has a higher `seq` than the one before: then file order is run
order, nothing is overridden, and each line can be folded as it comes. The first line that breaks this makes the
whole journal `irregular`, and the caller folds it normatively. What it takes is a block's digest (digest.py), made
here or by another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import Blank, Malformed, UnknownVersion, decode_line
from rekindle.core.journal.digest import REFUSALS, Stretch, digest
from rekindle.core.journal.event import VERSION, Event
from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.run import RunState
from rekindle.core.journal.run_events import count, evolve


class _Full(msgspec.Struct, gc=False):
    """A line that changes its run, if it is as plain as those our own writers make."""

    type: str
    sid: str
    seq: int
    v: int = VERSION
    feature: str | None = None
    ts: str | None = None
    data: dict[str, Any] = {}


_decode_full = msgspec.json.Decoder(_Full).decode


class Irregular(Exception):
    """The journal has to be folded normatively."""


class StreamFold:
    """Folds lines as they come. Feed whole lines in file order; `state` is then what they add up to."""

    def __init__(self, state: JournalState | None = None) -> None:
        self.state = state if state is not None else JournalState()

    def feed(self, block: bytes) -> None:
        """Fold a block of whole lines, each ended by a newline.

        Raises Irregular; the state is useless after that.
        """
        self.feed_digest(digest(block))

    def feed_digest(self, stretches: Sequence[Stretch]) -> None:
        """Fold a block by its digest. Raises Irregular, like `feed`."""
        state = self.state
        for stretch in stretches:
            self._step(stretch.line)
            if not stretch.following:
                continue
            run = state.sids.get(stretch.sid)
            if run is None or run.last_seq != stretch.seq:
                raise Irregular  # the normative decoder sees another place in the first line
            for line in stretch.loud:
                self._promote_and_evolve(run, _event(line))
            _book(run, stretch)
            state.lines += stretch.following

    def feed_last(self, line: bytes) -> None:
        """Fold what comes after the last newline: a torn line, or one whose newline is still to come."""
        self._step(line)

    def _step(self, line: bytes) -> None:
        state = self.state
        state.lines += 1
        match decode_line(line):
            case Event() as event:
                run = self._run_of(event)
                if run is None:
                    return
                if event.seq is not None and event.seq <= run.last_seq:
                    raise Irregular
                count(run, event.seq, event.feature, event.ts)
                self._promote_and_evolve(run, event)
            case Malformed():
                state.malformed.append(state.lines)
            case UnknownVersion():
                state.unknown_version.append(state.lines)
            case Blank():
                pass

    def _promote_and_evolve(self, run: RunState, event: Event) -> None:
        if run.passed_over and not run.is_run and event.sid is not None and ev.makes_run(event.type):
            raise Irregular  # a line without sid would have belonged here
        evolve(run, event)

    def _run_of(self, event: Event) -> RunState | None:
        sids = self.state.sids
        if event.sid is not None:
            run = sids.get(event.sid)
            if run is None:
                run = sids[event.sid] = RunState(event.sid)
            return run
        for run in reversed(sids.values()):
            if not run.is_run:
                run.passed_over = True
            elif not run.ended:
                return run
        return None


def _event(line: bytes) -> Event:
    """The event of a line whose header was accepted."""
    try:
        full = _decode_full(line)
        return Event(full.type, full.sid, full.seq, full.feature, full.ts, full.data, None)
    except REFUSALS:
        decoded = decode_line(line)
        if not isinstance(decoded, Event):
            raise Irregular from None
        return decoded


def _book(run: RunState, stretch: Stretch) -> None:
    """Enter the lines of a stretch that follow its first one, which nobody has counted yet."""
    run.events += stretch.following
    run.last_seq += stretch.following
    if run.first_ts is None:
        run.first_ts = stretch.first_ts
    if stretch.last_ts is not None:
        run.last_ts = stretch.last_ts
    if stretch.feature is not None:
        run.feature = stretch.feature
