"""The exit record: how an incarnation ended, with everything the next one must know.

Its file is allocated before the agent starts and written exactly once, after the sweep, by the
keeper, or by the guard if the keeper died. A reader gets None until it is whole. This module decides nothing.
"""

from dataclasses import asdict, dataclass, replace
from enum import Enum

from rekindle.keeper import fields
from rekindle.keeper.processes import ProcessId
from rekindle.keeper.slots import SlotFile, read_slots
from rekindle.keeper.spec import Layout

_SLOT_BYTES = 32 * 1024
_MOST_LISTED = 64
_LONGEST_REASON = 500


class EndedBy(Enum):
    AGENT = "agent"  # it exited, or somebody outside killed it
    STOP = "stop"  # we were asked to
    GUARD = "guard"  # the keeper died, so the guard ended the tree
    START_FAILED = "start_failed"  # it never ran
    TERMINAL = "terminal"  # the terminal that it was used in was closed
    DEADLINE = "deadline"  # its worker in a fleet did not renew the deadline


@dataclass(frozen=True, slots=True)
class Swept:
    """A process of the tree that had to be ended; `signal` is the last one it got."""

    pid: int
    comm: str
    signal: str


@dataclass(frozen=True, slots=True)
class LeftRunning:
    pid: int
    start: int
    comm: str

    @property
    def id(self) -> ProcessId:
        return ProcessId(self.pid, self.start)


@dataclass(frozen=True, slots=True)
class Truncation:
    """Somebody shortened a spool file: to `at`, which lost `lost` bytes (in total over `times`)."""

    at: int
    lost: int
    times: int = 1


@dataclass(frozen=True)
class ExitRecord:
    session: str
    attempt: int
    generation: int
    ended_by: EndedBy
    reason: str
    code: int | None
    signal: str | None
    written_by: str
    out_size: int
    err_size: int
    in_size: int
    spooled_n: int
    started_n: int
    delivered_n: int
    truncated_out: Truncation | None
    truncated_err: Truncation | None
    swept: tuple[Swept, ...]
    swept_count: int
    left: tuple[LeftRunning, ...]
    started_at: float
    ended_at: float
    boot: str


def create_exit_file(folder: str) -> SlotFile:
    return SlotFile.create(Layout(folder).exit, slot_bytes=_SLOT_BYTES, slots=1)


def write_exit(file: SlotFile, record: ExitRecord) -> None:
    """Record how the incarnation ended. Long lists are cut: there is room for one record of a known size."""
    listed = slice(_MOST_LISTED)
    short = replace(
        record, swept=record.swept[listed], left=record.left[listed], reason=record.reason[:_LONGEST_REASON]
    )
    value: dict[str, object] = {"v": 1, **asdict(short), "ended_by": record.ended_by.value}
    file.write(value, sync=True)


def read_exit(folder: str) -> ExitRecord | None:
    """How the incarnation ended; None while it lives, or if its writers died first."""
    value = read_slots(Layout(folder).exit)
    if value is None:
        return None
    try:
        return ExitRecord(
            session=fields.text(value, "session"),
            attempt=fields.integer(value, "attempt"),
            generation=fields.integer(value, "generation"),
            ended_by=EndedBy(fields.text(value, "ended_by")),
            reason=fields.text(value, "reason"),
            code=fields.optional_integer(value, "code"),
            signal=None if value.get("signal") is None else fields.text(value, "signal"),
            written_by=fields.text(value, "written_by"),
            out_size=fields.integer(value, "out_size"),
            err_size=fields.integer(value, "err_size"),
            in_size=fields.integer(value, "in_size"),
            spooled_n=fields.integer(value, "spooled_n"),
            started_n=fields.integer(value, "started_n"),
            delivered_n=fields.integer(value, "delivered_n"),
            truncated_out=truncation(value.get("truncated_out")),
            truncated_err=truncation(value.get("truncated_err")),
            swept=tuple(
                Swept(fields.integer(one, "pid"), fields.text(one, "comm"), fields.text(one, "signal"))
                for one in fields.objects(value, "swept")
            ),
            swept_count=fields.integer(value, "swept_count"),
            left=tuple(
                LeftRunning(fields.integer(one, "pid"), fields.integer(one, "start"), fields.text(one, "comm"))
                for one in fields.objects(value, "left")
            ),
            started_at=fields.number(value, "started_at"),
            ended_at=fields.number(value, "ended_at"),
            boot=fields.text(value, "boot"),
        )
    except ValueError:
        return None


def truncation(value: object) -> Truncation | None:
    if not isinstance(value, dict):
        return None
    return Truncation(*(fields.integer(value, name) for name in ("at", "lost", "times")))
