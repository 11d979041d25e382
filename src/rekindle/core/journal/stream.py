"""The fast fold: one pass over regular journals, which can be stopped, stored and continued.

A journal is *regular* while every line of a sid has a higher `seq` than the one before: then file order is run
order, nothing is overridden, and each line can be folded as it comes. The first line that breaks this makes the
whole journal `irregular`, and the caller folds it normatively. Headers are decoded by msgspec without their data;
any line that it refuses, or that is not plainly the next one of the current run, goes to the normative decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from rekindle.core.journal import event as ev
from rekindle.core.journal.decode import MAX_DEPTH, Blank, Malformed, UnknownVersion, decode_line, may_be_too_deep
from rekindle.core.journal.event import VERSION, Event
from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.run import RunState
from rekindle.core.journal.run_events import changes_state, count, evolve


class _Header(msgspec.Struct, gc=False):
    """What shows whether a line is plainly the next one of the current run, and whether it matters."""

    type: str
    sid: str | None = None
    seq: int | None = None
    v: int = VERSION


class _Meta(msgspec.Struct, gc=False):
    feature: str | None = None
    ts: str | None = None


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
_decode_header = msgspec.json.Decoder(_Header).decode
_decode_meta = msgspec.json.Decoder(_Meta).decode

#: What msgspec may raise on bytes that it rejects.
REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


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
        lines = block.split(b"\n")
        if lines.pop():
            raise ValueError("a block ends with a newline")
        if not _is_utf8(block) or _has_deep_line(lines):
            self._feed_slowly(lines)
            return
        try:
            headers = list(map(_decode_header, lines))
        except REFUSALS:
            self._feed_slowly(lines)
            return
        self._feed_headers(lines, headers)

    def feed_last(self, line: bytes) -> None:
        """Fold what comes after the last newline: a torn line, or one whose newline is still to come."""
        self._feed_slowly([line])

    def _feed_headers(self, lines: list[bytes], headers: list[_Header]) -> None:
        state = self.state
        before = state.lines
        run: RunState | None = None
        sid: object = None
        expected = first = 0
        quiet: set[str] = set()
        for index, header in enumerate(headers):
            if header.seq == expected and header.sid == sid and run is not None and header.v == VERSION:
                expected += 1
                type_ = header.type
                if type_ in quiet:
                    continue
                if not changes_state(type_):
                    quiet.add(type_)
                    continue
                self._promote_and_evolve(run, _event(lines[index]))
                continue
            if run is not None:
                _book(run, lines[first:index])
            state.lines = before + index
            self._step(lines[index])
            run = state.sids.get(header.sid) if header.sid else None
            if run is not None:
                sid, expected, first = run.sid, run.last_seq + 1, index + 1
        if run is not None:
            _book(run, lines[first:])
        state.lines = before + len(lines)

    def _feed_slowly(self, lines: Sequence[bytes]) -> None:
        for line in lines:
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


def _book(run: RunState, plain: list[bytes]) -> None:
    """Enter consecutive lines of a run that `_feed_headers` has let pass without counting them."""
    if not plain:
        return
    run.events += len(plain)
    run.last_seq += len(plain)
    if run.first_ts is None:
        run.first_ts = next((ts for ts in map(_ts_of, plain) if ts is not None), None)
    run.last_ts = next((ts for ts in map(_ts_of, reversed(plain)) if ts is not None), run.last_ts)
    run.feature = next((name for name in map(_feature_of, reversed(plain)) if name is not None), run.feature)


def _ts_of(line: bytes) -> str | None:
    return _meta(line).ts


def _feature_of(line: bytes) -> str | None:
    return _meta(line).feature


def _meta(line: bytes) -> _Meta | Event:
    try:
        return _decode_meta(line)
    except REFUSALS:
        decoded = decode_line(line)
        return decoded if isinstance(decoded, Event) else _Meta()


def _has_deep_line(lines: list[bytes]) -> bool:
    return max(map(len, lines), default=0) > 2 * MAX_DEPTH and any(map(may_be_too_deep, lines))


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
