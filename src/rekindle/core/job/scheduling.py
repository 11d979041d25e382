"""When jobs start: schedules and their times, and who goes first when there is no room for all. Pure.

A schedule starts one job at a time. Times that come while that job is running, or while no daemon is, count as one: the
next job starts once, late, and then the schedule goes on from now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from msgspec.structs import replace

from rekindle.core.job import facts as f
from rekindle.core.job.order import job_at
from rekindle.core.job.outcome import by_whom
from rekindle.core.job.state import Job

#: The next time of a schedule after a moment; None: there is none.
NextAfter = Callable[[float], float | None]
#: If the clock is set back by more than this, the next time is found anew: the clock had been wrong.
_FAR: Final = 86400.0


def scheduled(job: Job, now: float, next_after: NextAfter, *, is_busy: bool) -> list[f.JobFact]:
    """The decision about a schedule that is due. `is_busy`: the job that it started last has not ended yet."""
    if not job.is_schedule or job.over is not None:
        return []
    if job.cancel_asked:
        return [f.JobOver(at=now, how="cancelled", why=f"cancelled {by_whom(job.cancel_asked)}")]
    if job.next_at is None:
        first = next_after(max(now, job.order.not_before or 0.0))
        if first is None:
            return [f.JobOver(at=now, how="failed", why=f"{job.order.every!r} names no time that ever comes")]
        return [f.NextTimeSet(at=now, next_at=first)]
    if job.next_at <= now and not is_busy:
        return [f.NextTimeSet(at=now, next_at=next_after(now), due=job.next_at, job=job_at(job.id, job.next_at))]
    if job.next_set_at is not None and job.next_set_at - now > _FAR:
        found = next_after(now)
        if found is not None and found < job.next_at:
            return [f.NextTimeSet(at=now, next_at=found, why="the clock was set back")]
    return []


def started_by(schedule: Job, job: str, at: float) -> f.JobSubmitted:
    """The job that a schedule starts for its last time."""
    order = replace(schedule.order, every="", zone="", not_before=None)
    return f.JobSubmitted(at=at, job=job, order=order, by=schedule.by, of=schedule.id, due=schedule.last_due)


def has_room(job: Job, jobs: Iterable[Job], now: float, *, at_once: int, resting: Collection[str] = ()) -> bool:
    """Whether a job may work now: it does already, or it is among the first of those that wait.

    Jobs that wait for a person (`resting`) take no room.
    """
    if job.has_begun:
        return True
    opened = [one for one in jobs if one.over is None and not one.is_schedule]
    busy = sum(one.has_begun and one.id not in resting for one in opened)
    waiting = [one for one in opened if not one.has_begun and (one.order.not_before or 0.0) <= now]
    waiting.sort(key=lambda one: (-one.order.priority, one.submitted_at, one.id))
    return any(one.id == job.id for one in waiting[: max(0, at_once - busy)])
