"""The timers of a session: which of them run, and when they are due. Pure.

Timers are facts, so that no clock starts over with the daemon. A timer runs as long as its purpose: it is dropped when
that is over, and set again when it begins again.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from rekindle.core.session import facts as f
from rekindle.core.session.choosing import idle_rule
from rekindle.core.session.facts import TimerName
from rekindle.core.session.overflow import is_question
from rekindle.core.session.proving import PROOF_SECONDS, is_being_checked
from rekindle.core.session.state import Session, State

#: How long an agent must have been at rest before it is told anything: somebody may be about to say more.
_GRACE: Final = 2.0


def is_idle(session: Session) -> bool:
    """Whether a session's agent is up and at rest. Nobody can tell for one in a terminal: somebody may be using it."""
    attempt = session.attempt
    return (
        attempt is not None
        and attempt.status == "ready"
        and not attempt.given_up
        and session.state is State.WAITING_FOR_INPUT
        and not session.sendable
        and session.turn is None
        and session.stop_asked is None
        and not session.terminal
        and (session.escalation is None or session.escalation.trigger == "error")
        and session.gate is None
    )


def by_clock(session: Session, at: float | None) -> float | None:
    """A time from outside (of a file, say), by the clock as it is now: the clock may have been set forward since.

    Nobody can tell for a clock that was set back, which shows the same times twice: then less silence is counted.
    """
    if at is None or session.clock_set is None:
        return at
    noticed, by = session.clock_set
    return at + by if by > 0.0 and at <= noticed - by else at


def is_in_turn(session: Session) -> bool:
    """Whether a running turn may take too long. A question waits for a person forever."""
    attempt, turn = session.attempt, session.turn
    if attempt is None or attempt.status != "ready" or attempt.given_up or turn is None or turn.state == "cut":
        return False
    return all(asked.answered for asked in session.permissions)


def _is_opening(session: Session) -> bool:
    attempt = session.attempt
    return attempt is not None and attempt.status == "up" and not attempt.given_up


def _is_summing_up(session: Session) -> bool:
    turn = session.turn
    return is_in_turn(session) and turn is not None and is_question(turn)


_RUNS = {
    "idle": is_idle,
    "start": _is_opening,
    "turn": is_in_turn,
    "proof": is_being_checked,
    "summary": _is_summing_up,
}


def pruned(session: Session) -> Session:
    """Without the timers whose purpose is over."""
    if not session.timers:
        return session
    left = {name: at for name, at in session.timers.items() if _RUNS[name](session)}
    return session if len(left) == len(session.timers) else replace(session, timers=left)


def missing_timers(session: Session, now: float) -> list[f.TimerSet]:
    """The timers that have to be set."""
    return [
        f.TimerSet(at=now, timer=name, until=until)
        for name, until in _wanted(session, now).items()
        if name not in session.timers
    ]


def _wanted(session: Session, now: float) -> dict[TimerName, float]:
    rules = session.rules
    found: dict[TimerName, float] = {}
    if is_idle(session):
        held = idle_rule(session)
        found["idle"] = now + (held.pause if held.rule.action == "sleep" else max(held.pause, _GRACE))
    if _is_opening(session):
        found["start"] = now + rules.start_seconds
    if rules.limits.turn_seconds is not None and is_in_turn(session) and session.turn is not None:
        found["turn"] = max(now, session.turn.sent_at + rules.limits.turn_seconds)
    if _is_summing_up(session) and session.turn is not None:
        found["summary"] = max(now, session.turn.sent_at + rules.summary_seconds)
    if is_being_checked(session):
        found["proof"] = now + PROOF_SECONDS
    return found


def next_due(session: Session) -> tuple[TimerName, float] | None:
    """The timer that is due first; None: none is running."""
    names: tuple[TimerName, ...] = ("idle", "start", "turn", "proof", "summary")
    running = [(session.timers[name], name) for name in names if name in session.timers]
    return (min(running)[1], min(running)[0]) if running else None
