"""A session's status for those who ask: the four cases, and whether and how it can be resumed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rekindle.core.session.facts import Exited
from rekindle.core.session.machine import evolve
from rekindle.core.session.plan import is_cut
from rekindle.core.session.proving import is_being_checked
from rekindle.core.session.state import ACTIVE, Session, State

#: A keeper that answered or wrote within this many seconds counts as recently seen.
RECENTLY = 10.0
ExecutorStatus = Literal["starting", "ready", "busy", "stopped", "unknown"]


@dataclass(frozen=True)
class Status:
    """The answer to `task.session.status`."""

    is_running: bool
    needs_resume: bool
    is_resumable: bool
    reason: str


def status(session: Session, *, alive: bool, seen_seconds_ago: float | None) -> Status:
    """Evaluate the four cases. `alive`: the keeper's lock is held and we are connected to it."""
    attempt = session.attempt
    if alive:
        return Status(True, False, False, "already_running")
    if (
        attempt is not None
        and attempt.status != "gone"
        and seen_seconds_ago is not None
        and seen_seconds_ago < RECENTLY
    ):
        return Status(False, False, False, "recently_seen")
    if session.state not in ACTIVE:
        retry = session.state in (State.FAILED, State.CANCELLED)
        return Status(False, False, retry, f"{session.state.lower()}")
    if session.is_loadable:
        return Status(False, True, True, "agent_not_running")
    if attempt is not None:
        return Status(False, True, True, "agent_not_running_fresh_start")
    return Status(False, False, False, "not_started")


def executor_status(session: Session, *, alive: bool, seen_seconds_ago: float | None) -> ExecutorStatus:
    """How the process of a session's newest attempt stands. `unknown`: it was seen just now, and nobody follows it."""
    attempt = session.attempt
    if attempt is None or attempt.status == "gone":
        return "stopped"
    if not alive:
        return "unknown" if seen_seconds_ago is not None and seen_seconds_ago < RECENTLY else "stopped"
    if attempt.status != "ready":
        return "starting"
    return "busy" if session.turn is not None else "ready"


def presumed_dead(session: Session) -> Session:
    """The session as it is if its agent is gone and nobody has recorded that yet: no daemon was there to see it."""
    attempt = session.attempt
    if attempt is None or attempt.status == "gone":
        return session
    by_us = session.stop_asked is not None
    return evolve(session, Exited(at=session.changed_at, attempt=attempt.number, how_ended="", by_us=by_us))


def _is_about_to_work(session: Session) -> bool:
    """Whether a prompt is on its way to an agent at rest: its state still says that it waits, but it does not."""
    attempt = session.attempt
    ready = attempt is not None and attempt.status == "ready" and session.stop_asked is None
    return ready and session.state is State.WAITING_FOR_INPUT and bool(session.sendable)


def word(session: Session, *, alive: bool) -> str:
    """The session in one word, for a list."""
    if session.state not in ACTIVE:
        return session.state.lower()
    if alive:
        if any(not asked.answered for asked in session.permissions):
            return "asking"
        if _is_about_to_work(session):
            return "working"
        if is_being_checked(session):
            return "checking"
        return {State.STARTING: "starting", State.RUNNING: "working", State.WAITING_FOR_INPUT: "waiting"}[session.state]
    session = presumed_dead(session)
    if is_cut(session):
        return "interrupted"
    attempt = session.attempt
    if attempt is not None and attempt.status == "gone" and not attempt.by_us:
        return "dead"
    return "queued" if session.queued or attempt is None else "asleep"
