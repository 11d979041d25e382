"""The engine of a fleet in memory: keeps the promises of `rekindle.ports.fleet_engine`, by the loop's clock."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from msgspec.structs import replace

from rekindle.ports.fleet_engine import (
    Drive,
    DriveEnd,
    DriveOrder,
    DriveTold,
    DriveWish,
    FleetSchedule,
    FleetWork,
    Heard,
    WorkState,
)

_LOOK = 0.02


@dataclass
class _Held:
    """A job. `token` numbers its drives: whoever has an older one has lost it."""

    work: FleetWork
    state: str = "queued"
    token: int = 0
    host: str = ""
    beat_at: float = 0.0
    until: float | None = None
    woken: bool = False
    cancel_by: str = ""
    wish: DriveWish | None = None


@dataclass
class FakeEngine:
    """See `FleetEngine`. `clock` is the wall clock, for waits until a time."""

    clock: float = 0.0
    is_away: bool = False
    schedules: dict[str, FleetSchedule] = field(default_factory=dict)
    _jobs: dict[str, _Held] = field(default_factory=dict)

    async def submit(self, work: FleetWork) -> None:
        held = self._jobs.get(work.job)
        if held is None or held.state == "over":
            token = held.token if held is not None else 0
            delayed = work.not_before is not None and work.not_before > self.now()
            state = "delayed" if delayed else "queued"
            self._jobs[work.job] = _Held(work, state, token, until=work.not_before)

    async def schedule(self, schedule: FleetSchedule) -> None:
        self.schedules.setdefault(schedule.work.job, schedule)

    async def wake(self, work: FleetWork, mail: str, wish: DriveWish | None = None) -> None:
        await self.submit(work)
        held = self._jobs[work.job]
        held.wish, held.woken = wish or held.wish, True
        if held.state in ("waiting", "delayed"):
            held.state, held.woken = "queued", False

    async def cancel(self, work: FleetWork, by: str, *, has_begun: bool) -> None:
        if has_begun:
            await self.submit(work)
        held = self._jobs.get(work.job)
        if held is None or held.state == "over":
            return
        held.cancel_by = by
        if held.state != "driven":
            held.state = "queued" if has_begun else "over"

    async def end_schedule(self, job: str) -> None:
        self.schedules.pop(job, None)

    async def state(self, job: str) -> WorkState:
        held = self._jobs.get(job)
        if held is None:
            return WorkState("unknown")
        return WorkState(
            held.state,  # type: ignore[arg-type]
            host=held.host if held.state == "driven" else "",
            until=held.until if held.state in ("waiting", "delayed") else None,
        )

    async def close(self) -> None:
        """Nothing is held."""

    def now(self) -> float:
        """The wall clock: what a test has added, and what has really passed."""
        return self.clock + asyncio.get_running_loop().time()

    def take(self, queues: frozenset[str], host: str) -> tuple[DriveOrder, int] | None:
        """The most urgent job that waits in one of these queues."""
        self._look()
        fitting = [one for one in self._jobs.values() if one.state == "queued" and one.work.queue in queues]
        if not fitting:
            return None
        held = min(fitting, key=lambda one: one.work.urgency)
        held.state, held.host, held.token = "driven", host, held.token + 1
        held.beat_at, held.woken = asyncio.get_running_loop().time(), False
        order = DriveOrder(held.work.job, held.token, held.work.heartbeat, cancel_by=held.cancel_by, wish=held.wish)
        return order, held.token

    def heard(self, job: str, token: int) -> Heard:
        """A heartbeat of the drive with this number."""
        self._look()
        held = self._jobs[job]
        if self.is_away:
            return "away"
        if held.token != token or held.state != "driven":
            return "lost"
        held.beat_at = asyncio.get_running_loop().time()
        return "cancelled" if held.cancel_by else "accepted"

    def ended(self, end: DriveEnd, token: int) -> None:
        """A drive has ended. Nothing if it was lost before."""
        held = self._jobs[end.job]
        if held.token != token or held.state != "driven":
            return
        held.until, held.wish = end.until, None
        if end.how == "moved" or held.woken:
            held.state, held.woken = "queued", False
        else:
            held.state = "waiting" if end.how == "waits" else "over"

    def released(self, job: str, token: int) -> None:
        """A drive has failed: somebody else tries."""
        held = self._jobs[job]
        if held.token == token and held.state == "driven":
            held.state = "queued"

    def who_cancels(self, job: str) -> str:
        """Who wants a job cancelled."""
        return self._jobs[job].cancel_by

    def _look(self) -> None:
        """What has happened by itself: hosts that fell silent, waits that are over."""
        time = asyncio.get_running_loop().time()
        for held in self._jobs.values():
            if held.state == "driven" and time - held.beat_at > held.work.heartbeat:
                held.state = "queued"
            if held.state in ("waiting", "delayed") and held.until is not None and held.until <= self.now():
                held.state = "queued"


@dataclass
class FakePulse:
    """See `Pulse`."""

    engine: FakeEngine
    job: str
    token: int
    told: list[DriveTold] = field(default_factory=list)

    async def beat(self, told: DriveTold) -> Heard:
        self.told.append(told)
        return self.engine.heard(self.job, self.token)

    async def cancelled_by(self) -> str:
        return self.engine.who_cancels(self.job)


@dataclass
class FakeWorker:
    """See `FleetWorker`."""

    engine: FakeEngine
    host: str
    queues: frozenset[str]

    async def run(self, drive: Drive) -> None:
        tasks: set[asyncio.Task[None]] = set()
        try:
            while True:
                taken = self.engine.take(self.queues, self.host) if not self.engine.is_away else None
                if taken is not None:
                    task = asyncio.ensure_future(self._drive(drive, *taken))
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)
                await asyncio.sleep(0 if taken is not None else _LOOK)
        finally:
            for one in list(tasks):
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def listen_to(self, queues: frozenset[str]) -> None:
        self.queues = queues

    async def _drive(self, drive: Drive, order: DriveOrder, token: int) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            try:
                end = await drive(order, FakePulse(self.engine, order.job, token))
            except Exception:
                self.engine.released(order.job, token)
            else:
                self.engine.ended(replace(end, job=order.job), token)
