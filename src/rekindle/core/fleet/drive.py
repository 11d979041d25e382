"""What the host that drives a job of the fleet does about it next. Pure, level-triggered.

A drive lasts until the job is over, until nothing has to be done for a long time, or until the host is to be emptied.
Everything else is decided as on one machine.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from rekindle.core.job.outcome import outcome
from rekindle.core.job.plan import wakes_at
from rekindle.core.job.state import Job
from rekindle.core.session.activity import needs_daemon, waits_until
from rekindle.core.session.state import TERMINAL, Session

#: Waiting shorter than this many heartbeats is not worth a move.
_LONG: Final = 4

#: What a drive ends with. `waits`: until a time, or for a person. `moved`: another host goes on.
How = Literal["over", "waits", "moved"]


class Stay(msgspec.Struct, frozen=True):
    """Nothing to decide: it goes on here. Look again at `until`, or when something changes."""

    until: float | None = None


class CancelJob(msgspec.Struct, frozen=True):
    """The engine was told that the job is to be cancelled: record it."""


class Abandon(msgspec.Struct, frozen=True):
    """Another host may have the job by now: end the agent, and touch nothing else."""


class LetGo(msgspec.Struct, frozen=True):
    """Put the agent to sleep, have everything copied off this host, and end the drive."""

    how: How
    until: float | None = None


Move = Stay | CancelJob | Abandon | LetGo


class DriveView(msgspec.Struct, frozen=True):
    """All that the decision depends on. `session` is that of the current step, `others` are of other steps."""

    job: Job
    session: Session | None
    heartbeat: float
    is_lost: bool = False
    is_cancelled: bool = False
    drains: bool = False
    others: tuple[Session, ...] = ()


def next_move(view: DriveView, now: float) -> Move:
    """What to do now."""
    job, session = view.job, view.session
    others_busy = any(_is_busy(one, now) for one in view.others)
    in_turn = any(is_in_turn(one, now) for one in (session, *view.others))
    if view.is_lost:
        return Abandon()
    if view.is_cancelled and job.over is None and not job.cancel_asked:
        return CancelJob()
    if job.over is not None:
        return Stay() if others_busy or (session is not None and _is_busy(session, now)) else LetGo("over")
    if view.drains and not in_turn:
        return LetGo("moved")
    if view.is_cancelled or job.cancel_asked or others_busy:
        return Stay()
    if session is not None and not session.is_up and outcome(session).kind in ("asking", "asleep"):
        return LetGo("waits")
    until = _next_time(job, session, now)
    if until is not None and until - now > _LONG * view.heartbeat and not in_turn:
        return LetGo("waits", until)
    return Stay(until)


def is_in_turn(session: Session | None, now: float) -> bool:
    """Whether the agent works, is being started, or is about to get a prompt: what it does would be cut off.

    So would a command that decides whether the task is finished. A prompt that waits for its time is not cut off: it is
    sent then, wherever the session is.
    """
    if session is None or (session.gate is not None and session.state not in TERMINAL):
        return session is not None
    if not session.is_up or session.attempt is None:
        return False
    if session.attempt.status != "ready" or session.turn is not None:
        return True
    return bool(session.sendable) and waits_until(session, now) is None


def is_tried_again(job: Job, asked_at: float, of: float | None) -> bool:
    """Whether a person who wants another try of a job that has ended means the end that it has now.

    They may be heard twice, and their host's clock may be wrong: `of` is the end that they have seen. Without it, only
    the times can be compared.
    """
    if job.over is None or job.over_at is None:
        return False
    return job.over_at <= asked_at if of is None else job.over_at == of


def _is_busy(session: Session, now: float) -> bool:
    """Whether somebody still wants something of the session, although its step, or the whole job, is over."""
    if session.is_up:
        return is_in_turn(session, now) or bool(session.sendable)
    return needs_daemon(session) and waits_until(session, now) is None


def _next_time(job: Job, session: Session | None, now: float) -> float | None:
    """When the job goes on by itself, if it waits for that."""
    if session is not None and (until := waits_until(session, now)) is not None:
        return until
    return wakes_at(job, session, now)
