"""What a session is doing, as its facts show, and from when to when. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from rekindle.core.report.contents import Phase, Span
from rekindle.core.report.sources import Window
from rekindle.core.session.plan import is_cut
from rekindle.core.session.state import TERMINAL, Session


def phase(session: Session) -> Phase:
    """What a session is doing."""
    if session.state in TERMINAL and session.resume_asked is None:
        return "over"
    asked = session.escalation
    # Whether a dead agent is brought back is a question too, but what a person wants to see is that it was cut off.
    if (asked is not None and asked.trigger != "dead") or any(not one.answered for one in session.permissions):
        return "asking"
    if session.gate is not None:
        return "checking"
    attempt, queued = session.attempt, session.queued
    waits_for_limit = bool(queued) and bool(queued[0].limit or queued[0].after) and session.turn is None
    if attempt is not None and session.is_up:
        if attempt.status != "ready":
            return "starting"
        if session.turn is not None and session.turn.state != "cut":
            return "working"
        return "held" if waits_for_limit and session.on_hold else "limit" if waits_for_limit else "idle"
    return _without_agent(session, waits_for_limit=waits_for_limit)


def _without_agent(session: Session, *, waits_for_limit: bool) -> Phase:
    if session.on_hold and (session.queued or is_cut(session)):
        return "held"
    if waits_for_limit:
        return "limit"
    if session.attempt is None:
        return "starting"
    if is_cut(session):
        return "cut"
    return "queued" if session.queued else "idle"


class Spans:
    """Collects what a session was doing. Time does not run backwards here, whatever the clock did."""

    def __init__(self) -> None:
        self._found: list[Span] = []

    def note(self, now: Phase, at: float, seq: int) -> None:
        """This is what it does from this time on."""
        if self._found:
            last = self._found[-1]
            at = max(at, last.since)
            self._found[-1] = replace(last, until=at)
            if last.phase == now:
                return
        self._found.append(Span(now, at, at, seq))

    def within(self, window: Window) -> list[Span]:
        """All of them, as far as they are in the window. What it did last, it still does, unless it is over."""
        found = list(self._found)
        if found and found[-1].phase != "over":
            found[-1] = replace(found[-1], until=max(found[-1].since, window.until))
        clipped = [
            replace(one, since=max(one.since, window.since), until=min(one.until, window.until)) for one in found
        ]
        return [one for one in clipped if one.until > one.since]
