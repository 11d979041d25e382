"""Drives jobs of the fleet on this host: takes one over, attends it as on one machine, and lets go of it.

The engine of the fleet says which host drives a job, and hears from it all the time. Each heartbeat that it accepts
lets the job's agent live a little longer. So when this host falls silent, its agent is gone before another host is
asked to go on; and an agent is started only while it is known that nobody else may.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import assert_never

from msgspec.structs import replace

from rekindle.app.takeovers import BY, Takeovers
from rekindle.core.fleet.drive import Abandon, CancelJob, DriveView, LetGo, Stay, is_in_turn, is_tried_again, next_move
from rekindle.core.fleet.lease import ENDS_WITHIN, lasts_until, may_start, pause
from rekindle.core.fleet.needs import queue_of_order
from rekindle.core.job import facts as jf
from rekindle.core.job.scheduling import started_by
from rekindle.core.job.state import Job
from rekindle.core.session import facts as f
from rekindle.core.session.state import OURS, Session
from rekindle.ports.errors import RekindleError
from rekindle.ports.fleet_engine import DriveEnd, DriveOrder, DriveTold, Pulse
from rekindle.ports.fleet_jobs import FleetJobs, PlacedJob
from rekindle.ports.keepers import Keepers
from rekindle.ports.placements import Placements
from rekindle.runtime.driven_jobs import DrivenJobs
from rekindle.runtime.leases import Leases
from rekindle.runtime.supervisor import Supervisor

log = logging.getLogger(__name__)
_PAUSE = 0.1
#: How the exit record calls the end of an agent whose lease ran out, or was taken from it.
_DEADLINE = "deadline passed"
_GIVEN_AWAY = "the fleet's engine gave it to another host"

#: Copies what is new of a session off this host; whether that was all.
Ship = Callable[[Session], Awaitable[bool]]
#: How many bytes of a session were copied off this host, and its newest snapshot that was.
Copied = Callable[[str], tuple[int, int]]


class DriveLost(RekindleError):
    """The engine has given the job to another host, or soon will. Let go of it."""

    code = "drive_lost"


class HostFull(RekindleError):
    """This host drives as many jobs as it may. Another one, or this one later, takes it."""

    code = "host_full"


@dataclass
class _Under:
    """One drive."""

    order: DriveOrder
    pulse: Pulse
    accepted: asyncio.Event = field(default_factory=asyncio.Event)
    is_lost: bool = False
    is_cancelled: bool = False
    #: whether its agents may live on; false while they are being ended for good
    renews: bool = True
    until: float = 0.0
    #: what is being renewed, by session
    renewing: dict[str, asyncio.Future[None]] = field(default_factory=dict)


@dataclass(frozen=True)
class DrivingParts:
    """What a drive works with."""

    host: str
    supervisor: Supervisor
    keepers: Keepers
    jobs: DrivenJobs
    fleet_jobs: FleetJobs
    placements: Placements
    takeovers: Takeovers
    leases: Leases
    ship: Ship
    copied: Copied


class Driving:
    """All drives of one host. `capacity` is how many there may be at once."""

    def __init__(self, parts: DrivingParts, capacity: Callable[[], int]) -> None:
        self._parts = parts
        self._engine = parts.supervisor.engine
        self._capacity = capacity
        self._under: dict[str, _Under] = {}
        self._drains = False
        #: takes the messages that wait for a session which this host has got; the job is not over before that
        self.catch_up: Callable[[str], Awaitable[None]] = _nobody_wrote

    @property
    def driven(self) -> list[str]:
        """The jobs that this host drives."""
        return list(self._under)

    def drain(self, drains: bool) -> None:
        """Let go of every job at the end of its turn; or no more."""
        self._drains = drains
        self._parts.jobs.nudge()

    async def drive(self, order: DriveOrder, pulse: Pulse) -> DriveEnd:
        """Drive a job until that is over. Raises DriveLost, HostFull, and whatever keeps this host from driving it.

        When this returns or raises, no agent of the job lives on this host. Cancelled: it leaves without a word, and
        the agent lives until its lease runs out; the engine hears no more of this host, and waits for longer than that.
        """
        if order.job in self._under or len(self._under) >= self._capacity():
            raise HostFull(f"{self._parts.host} drives {len(self._under)} jobs already", "another host takes it")
        under = self._under[order.job] = _Under(order, pulse)
        beating = asyncio.ensure_future(self._heard(under))
        try:
            return await self._driven(under)
        except asyncio.CancelledError:
            raise
        except BaseException:
            await self._end_agents(under)
            raise
        finally:
            beating.cancel()
            self._parts.leases.drop(order.job)
            await self._parts.jobs.put_down(order.job)
            self._under.pop(order.job, None)
            await asyncio.gather(beating, return_exceptions=True)

    # The pulse

    async def _heard(self, under: _Under) -> None:
        """Have the engine hear of this host. If that fails in a way that nobody knows, the job is let go at once.

        Else the drive would wait for ever, without a lease, and the engine could not give the job to this host again.
        """
        try:
            await self._beat(under)
        except Exception:
            log.exception("%s: its heartbeats failed; it is let go", under.order.job)
            self._lose(under)

    async def _beat(self, under: _Under) -> None:
        job, leases = under.order.job, self._parts.leases
        while not under.is_lost:
            asked = leases.clock()
            heard = await under.pulse.beat(self._told(job))
            if heard in ("accepted", "cancelled"):
                under.until = lasts_until(asked, under.order.heartbeat, under.order.closes_at)
                if heard == "cancelled" and not under.is_cancelled:
                    under.is_cancelled = True
                    self._parts.jobs.nudge()
                self._lease(under)
            elif heard == "lost":
                log.warning("%s: the fleet's engine has given it to another host", job)
                self._lose(under)
            await asyncio.sleep(pause(under.order.heartbeat))

    def _lose(self, under: _Under) -> None:
        """This host has no right to the job any more, or cannot know that it has."""
        under.is_lost = True
        under.accepted.set()
        self._parts.leases.drop(under.order.job)
        self._parts.jobs.nudge()

    def _lease(self, under: _Under) -> None:
        """A heartbeat was accepted: agents may live until the lease that follows from it, and start."""
        under.accepted.set()
        if not under.renews:
            return
        job = under.order.job
        self._parts.leases.give(job, under.until)
        for session in self._sessions(job):
            if not session.is_up:
                self._parts.supervisor.governing.call(session.id)
            elif session.id not in under.renewing or under.renewing[session.id].done():
                under.renewing[session.id] = asyncio.ensure_future(self._renew(session, under.until))

    async def _renew(self, session: Session, until: float) -> None:
        assert session.attempt is not None
        with contextlib.suppress(RekindleError, OSError):  # it is being started, or has just ended: heard of otherwise
            await self._parts.keepers.renew(session.id, session.attempt.number, until)

    def _told(self, job: str) -> DriveTold:
        session = next(iter(self._sessions(job)), None)
        attempt = session.attempt if session is not None else None
        if session is None or attempt is None:
            return DriveTold(self._parts.host)
        return DriveTold(self._parts.host, session.id, attempt.number, *self._parts.copied(session.id))

    def _sessions(self, job: str) -> list[Session]:
        """The sessions of a job that are in memory."""
        return [one for one in self._engine.at_hand() if one.job == job]

    # The drive

    async def _driven(self, under: _Under) -> DriveEnd:
        await self._lawful(under)
        job = await self._taken(under)
        await self._parts.jobs.take_up(job)
        while True:
            job = self._parts.jobs.job(under.order.job) or job
            session = await self._parts.jobs.session_of(job)
            others = tuple(one for one in self._sessions(job.id) if session is None or one.id != session.id)
            told = (under.order.heartbeat, under.is_lost, under.is_cancelled, self._drains)
            view = DriveView(job, session, *told, others)
            now = self._engine.clock()
            match next_move(view, now):
                case Stay(until):
                    await self._parts.jobs.changed(60.0 if until is None else until - now)
                case CancelJob():
                    by = under.order.cancel_by or await under.pulse.cancelled_by()
                    await self._parts.jobs.decide(job.id, partial(_cancel, by, now))
                case Abandon():
                    raise DriveLost(f"{job.id}: another host has it", "nothing is to be done here")
                case LetGo(how, until):
                    if (end := await self._let_go(under, job, session, how, until)) is not None:
                        return end
                case other:
                    assert_never(other)

    async def _lawful(self, under: _Under) -> None:
        """Wait until it is known that this host has the job now: it may have slept since it was asked."""
        while not under.is_lost:
            await under.accepted.wait()
            if may_start(under.until, self._parts.leases.clock()):
                return
            under.accepted.clear()
        raise DriveLost(f"{under.order.job}: another host has it", "nothing is to be done here")

    async def _taken(self, under: _Under) -> Job:
        """Have the job and its sessions on this host, and what a person wants of it on record."""
        order, parts = under.order, self._parts
        found = await asyncio.to_thread(parts.fleet_jobs.find, order.job)
        if found is None and order.of:
            found = await self._due(order)
        if found is None:
            raise RekindleError(f"the fleet has no job {order.job}", "was its store replaced?")
        await self._lawful(under)
        taken = await asyncio.to_thread(
            lambda: parts.fleet_jobs.take(order.job, before=found.host, at=self._engine.clock())
        )
        for step in taken.job.steps:
            if step.session is not None:
                await self._bring(under, step.session, taken.job.order.commit)
        job, wish = taken.job, order.wish
        under.is_cancelled = under.is_cancelled or bool(order.cancel_by)
        if wish is None or not is_tried_again(job, wish.at, wish.of):
            return job
        await parts.jobs.take_up(job)
        asked = jf.JobRetryAsked(at=self._engine.clock(), by=wish.by, how=wish.how or None, max_cost=wish.max_cost)
        return await parts.jobs.decide(job.id, lambda _now: [asked])

    async def _due(self, order: DriveOrder) -> PlacedJob | None:
        """The job that a schedule starts for one of its times."""
        schedule = await asyncio.to_thread(self._parts.fleet_jobs.find, order.of)
        if schedule is None or schedule.job.over is not None:
            return None
        fact = replace(started_by(schedule.job, order.job, self._engine.clock()), due=order.due)
        return await asyncio.to_thread(self._parts.fleet_jobs.submit, fact, queue_of_order(fact.order))

    async def _bring(self, under: _Under, session: str, base: str) -> None:
        """Have a session of the job on this host."""
        found = await asyncio.to_thread(self._parts.placements.find, session)
        if found is None:
            return  # it was about to be begun
        if found.host != self._parts.host or not found.is_in_place:
            await self._lawful(under)
            await self._parts.takeovers.taken(session, host_is_gone=True, base=base, before=found.host)
        await self._engine.load(session)
        await self._parts.supervisor.decide(session, lambda now: _back(now, self._engine.clock()))
        await self.catch_up(session)

    async def _let_go(
        self, under: _Under, job: Job, session: Session | None, how: str, until: float | None
    ) -> DriveEnd | None:
        """Put the agent to sleep and have all of it copied off this host; None if something has come up meanwhile."""
        up = [one.id for one in self._sessions(job.id) if one.is_up]
        for name in up:
            await self._parts.supervisor.decide(name, partial(_asleep, self._engine.clock()))
        if up:
            await self._parts.jobs.changed(1.0)
            return None
        self._bar(under)
        if not await self._is_empty(job) or under.is_lost:
            self._allow(under)
            return None
        attempt = session.attempt.number if session is not None and session.attempt is not None else 0
        name = session.id if session is not None else ""
        return DriveEnd(
            how,  # type: ignore[arg-type]
            job.id,
            self._parts.host,
            until,
            result=job.over or "",
            session=name,
            receipt=f"{name}/{attempt}" if attempt else "",
        )

    def _bar(self, under: _Under) -> None:
        """From now on no agent of the job is started here, whatever comes up: another host may be asked soon."""
        under.renews = False
        self._parts.leases.drop(under.order.job)

    def _allow(self, under: _Under) -> None:
        under.renews = True
        if not under.is_lost:
            self._lease(under)

    async def _is_empty(self, job: Job) -> bool:
        """Whether nothing of the job is on this host alone, and nothing has changed while that was found out."""
        before = self._sessions(job.id)
        for one in before:
            if not await self._parts.ship(one):
                await asyncio.sleep(_PAUSE)
                return False
        changed = [one for one in self._sessions(job.id) if one not in before]
        return not changed and self._parts.jobs.job(job.id) in (job, None)

    async def _end_agents(self, under: _Under) -> None:
        """End every agent of the job here, and wait until none is left, or until none can be.

        One that is being started just now is there in a moment; no other one is, since there is no lease.
        """
        self._bar(under)
        latest = max(under.until, self._parts.leases.clock()) + ENDS_WITHIN
        keepers = self._parts.keepers
        while self._parts.leases.clock() < latest:
            up = [(one.id, one.attempt.number) for one in self._sessions(under.order.job) if one.attempt is not None]
            live = [one for one in up if self._may_live(*one)]
            if not live and not any(self._parts.supervisor.is_launching(session) for session, _ in up):
                return
            for session, attempt in live:
                with contextlib.suppress(RekindleError, OSError):
                    await keepers.end(session, attempt, _GIVEN_AWAY)
            await asyncio.sleep(_PAUSE)

    def _may_live(self, session: str, attempt: int) -> bool:
        """Whether an agent may still live. If nobody can tell, it may: the engine must not be told that none does."""
        try:
            return self._parts.keepers.look(session, attempt) in ("alive", "ending")
        except OSError as error:  # too many open files, say
            log.warning("%s: whether its agent lives is not known: %s", session, error)
            return True


def _cancel(by: str, at: float, job: Job) -> list[jf.JobFact]:
    return [] if job.over is not None or job.cancel_asked else [jf.JobCancelAsked(at=at, by=by)]


async def _nobody_wrote(_session: str) -> None:
    pass


def _back(session: Session, at: float) -> list[f.AnyFact]:
    """A session whose agent was ended because this host had fallen silent goes on, as one that was taken over does."""
    attempt = session.attempt
    if attempt is None or session.is_up or not any(one in attempt.how_ended for one in (_DEADLINE, _GIVEN_AWAY)):
        return []
    return [] if session.stop_asked is not None or session.resume_asked is not None else [f.ResumeAsked(at=at, by=BY)]


def _asleep(at: float, session: Session) -> list[f.AnyFact]:
    return [f.StopAsked(at=at, by=OURS, to="asleep")] if _may_sleep(session, at) else []


def _may_sleep(session: Session, now: float) -> bool:
    """Whether its agent is in no turn: nothing is cut off."""
    return session.is_up and not is_in_turn(session, now) and session.stop_asked is None
