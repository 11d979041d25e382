"""The engine of a fleet: gives each job to one host at a time, and to another one if that host falls silent.

Queues, leases, timers and the detection of dead hosts are the engine's own. It carries ids and receipts, never texts:
what a job is about stays in the shared store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

import msgspec

from rekindle.ports.errors import RekindleError


class EngineError(RekindleError):
    """The fleet's engine cannot be reached, or refuses what it was asked."""

    code = "engine_away"


class FleetWork(msgspec.Struct, frozen=True):
    """A job as the engine knows it. Hosts that may have it listen to `queue`; 1 is the most urgent of five.

    `heartbeat`: after so many seconds of silence its host counts as gone. `not_before` delays its start.
    """

    job: str
    queue: str
    urgency: int = 3
    heartbeat: float = 30.0
    not_before: float | None = None


class FleetSchedule(msgspec.Struct, frozen=True):
    """Starts a job at each time of a cron expression, in a time zone. Times that were missed count as one."""

    work: FleetWork
    every: str
    zone: str


class DriveWish(msgspec.Struct, frozen=True):
    """What a person wants of a job that has ended: another try. `how` empty: by the order of a retry.

    `of` is when the job had ended that they have seen, as the store has it: hosts do not agree about the time.
    """

    by: str
    at: float
    how: Literal["", "resume", "fresh"] = ""
    max_cost: float | None = None
    of: float | None = None


class DriveOrder(msgspec.Struct, frozen=True):
    """A job that this host is to drive. `number` counts all its drives. `of` names the schedule that starts it.

    `closes_at`: when the engine takes it back in any case, by CLOCK_BOOTTIME. `cancel_by`: somebody wants it cancelled.
    """

    job: str
    number: int
    heartbeat: float
    closes_at: float | None = None
    cancel_by: str = ""
    wish: DriveWish | None = None
    of: str = ""
    due: float | None = None


class DriveTold(msgspec.Struct, frozen=True):
    """What a host tells the engine with each heartbeat: how much of the session is kept off the host, among others."""

    host: str
    session: str = ""
    attempt: int = 0
    vault_offset: int = 0
    snapshot: int = 0


class DriveEnd(msgspec.Struct, frozen=True):
    """How a drive ended. `waits`: until a time or, without one, until the job is woken. `moved`: drive it elsewhere."""

    how: Literal["over", "waits", "moved"]
    job: str
    host: str
    until: float | None = None
    result: str = ""
    session: str = ""
    receipt: str = ""


#: What the engine says to a heartbeat. `cancelled`: it is accepted, and the job is to be cancelled. `lost`: somebody
#: else has the job, or soon will. `away`: the engine does not answer, so nobody knows whether it was heard.
Heard = Literal["accepted", "cancelled", "lost", "away"]


class Pulse(Protocol):
    """The heartbeats of one drive."""

    async def beat(self, told: DriveTold) -> Heard:
        """Say that this host still drives the job. Returns what the engine has answered, and raises nothing."""
        ...

    async def cancelled_by(self) -> str:
        """Who wants the job cancelled, if the engine can tell."""
        ...


#: Drives one job on this host until the drive ends. Cancelled: the host lets go without a word.
Drive = Callable[[DriveOrder, Pulse], Awaitable[DriveEnd]]


class WorkState(msgspec.Struct, frozen=True):
    """How a job stands with the engine. `queued`: no host drives it yet. `until`: a wait ends then by itself."""

    state: Literal["unknown", "delayed", "queued", "driven", "waiting", "over"]
    host: str = ""
    until: float | None = None


class FleetEngine(Protocol):
    """What any host can ask of the engine. Everything raises EngineError, and may be asked again."""

    async def submit(self, work: FleetWork) -> None:
        """Have a job driven. A job that the engine knows and that is not over is left alone."""
        ...

    async def schedule(self, schedule: FleetSchedule) -> None:
        """Start jobs by the calendar. Asking again changes nothing."""
        ...

    async def wake(self, work: FleetWork, mail: str, wish: DriveWish | None = None) -> None:
        """Have a job driven that waits or is over: somebody has said something to its session (`mail` is its id)."""
        ...

    async def cancel(self, work: FleetWork, by: str, *, has_begun: bool) -> None:
        """Have a job cancelled by the host that drives it, or if it `has_begun`, by one that drives it for that.

        A job that no host has ever driven is not driven any more.
        """
        ...

    async def end_schedule(self, job: str) -> None:
        """A schedule starts no more jobs. Nothing if there is none."""
        ...

    async def state(self, job: str) -> WorkState:
        """How a job stands."""
        ...

    async def close(self) -> None:
        """Release the engine. What it drives goes on."""
        ...


class FleetWorker(Protocol):
    """The part of a host that takes jobs from the engine's queues."""

    async def run(self, drive: Drive) -> None:
        """Take jobs and drive them, for ever."""
        ...

    async def listen_to(self, queues: frozenset[str]) -> None:
        """Take jobs from these queues only. With none, nothing new is taken; what is driven goes on."""
        ...
