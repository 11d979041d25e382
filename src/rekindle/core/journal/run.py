"""What the events of one run add up to.

`RunState` is everything that recovery needs to know about a run, small enough to keep in a snapshot and made so that
the states of a lineage can be merged (lineage.py) without reading their events again. `run_events.evolve` is the only
place where an event changes it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.core.journal.orders import DRIVER

PENDING = "PENDING"
IN_PROGRESS = "IN_PROGRESS"
COMPLETE = "COMPLETE"
FAILED = "FAILED"
SKIPPED = "SKIPPED"


class Gap(msgspec.Struct, frozen=True):
    """Sequence numbers that a run should have but does not."""

    sid: str
    after_seq: int
    expected_seq: int
    actual_seq: int
    missing_count: int


class Issue(msgspec.Struct, frozen=True):
    """An error, blocker, failure or warning, as reported. `commit` is what it is about, if it says so."""

    sid: str
    seq: int | None
    type: str
    task: str | None
    message: str
    resolved: bool = False
    file: str | None = None
    line: int | None = None
    attempts: int | None = None
    commit: str | None = None

    @property
    def place(self) -> str:
        """Where it occurred, as `file:line`; empty if nobody said."""
        return f"{self.file}:{self.line}" if self.file and self.line is not None else self.file or ""


class Checkpoint(msgspec.Struct, frozen=True):
    """The last point that was declared safe to resume at."""

    sid: str
    seq: int | None
    label: Any
    branch: Any
    plan_step: Any


class LaterEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that counts, after the last checkpoint. `task`, `agent` and `resolved` as far as it names them."""

    sid: str
    seq: int | None
    type: str
    task: str | None = None
    agent: str | None = None
    resolved: bool | None = None


class RunStart(msgspec.Struct, frozen=True):
    """What a run said about itself when it began."""

    command: str | None
    branch: str | None
    mode: str | None
    resumes: str | None
    restarts: str | None
    team: str | None
    driver: str | None = None
    agent: str | None = None
    permission: str | None = None
    limits: dict[str, Any] | None = None


class RecordedPlan(msgspec.Struct, frozen=True):
    """The plan as it was written, kept raw: it is shown and passed on, not interpreted here.

    A large one is written in parts. `missing` is how many of them are still to come; nobody works on an incomplete
    plan.
    """

    tasks: list[Any] = []
    waves: list[Any] = []
    dependencies: list[Any] = []
    missing: int = 0


class RecordedTask(msgspec.Struct):
    """A task as one run knows it. `status` is None while the plan has only mentioned it."""

    status: str | None = None
    summary: str | None = None
    agent: str | None = None
    files: list[Any] | None = None
    files_changed: list[Any] | None = None
    error: str | None = None
    attempts: int | None = None


class Qa(msgspec.Struct, frozen=True):
    """The last verdict of quality assurance on a task: started, passed or failed, and on which commit."""

    result: str
    round: int | None
    issues: list[Any] = []
    commit: str | None = None


class EarlierChoice(msgspec.Struct, frozen=True):
    """What was decided about an earlier interruption when this run began. `commits`: those that it was about."""

    choice: str
    tasks: list[str] = []
    instructions: str = ""
    commits: list[str] = []


class RecordedBranch(msgspec.Struct):
    """A branch that the journal knows, and the commit that it was merged with. None: this run does not say."""

    task: str | None = None
    merged: bool | None = None
    commit: str | None = None


class RecordedWorktree(msgspec.Struct, frozen=True):
    """A worktree that was made or removed."""

    branch: str | None
    removed: bool = False


class Claim(msgspec.Struct, frozen=True):
    """What somebody else said in a run that rekindle drives: the type of the event, and whose task it is about."""

    sid: str
    seq: int | None
    type: str
    task: str | None


class Disowned(msgspec.Struct, frozen=True):
    """A line that we did not write and that does not count: in a run of ours, or in a run that intrudes on one.

    `intruder` is the name by which the user can approve such a run; empty for a line in a run of ours.
    """

    line: int
    sid: str | None
    type: str
    intruder: str = ""


class Work(msgspec.Struct):
    """What a run has done and encountered: the larger part of its state, which only its own lineage needs.

    `later` are the newest of the `later_count` events that count after its last checkpoint.
    """

    gaps: list[Gap] = []
    plan: RecordedPlan | None = None
    tasks: dict[str, RecordedTask] = {}
    agents: dict[str, bool] = {}
    branches: dict[str, RecordedBranch] = {}
    worktrees: dict[str, RecordedWorktree] = {}
    qa: dict[str, Qa] = {}
    checkpoint: Checkpoint | None = None
    issues: list[Issue] = []
    warnings: list[Issue] = []
    later: list[LaterEvent] = []
    later_count: int = 0
    decided: list[tuple[str, int]] = []
    choices: list[EarlierChoice] = []
    claims: list[Claim] = []


_encode_work = msgspec.msgpack.Encoder().encode
_decode_work = msgspec.msgpack.Decoder(Work).decode


class RunState(msgspec.Struct):
    """One sid. `is_run` is False while it has only the events of a stray hook.

    `first_seq` is the lowest number of its events; None if none of them has one. `work` stays packed, as in a
    snapshot, until somebody asks for it: what is asked of every run of a journal has a field here.
    """

    sid: str
    is_run: bool = False
    ended: bool = False
    end_reason: str | None = None
    end_message: str | None = None
    start: RunStart | None = None
    feature: str | None = None
    first_ts: str | None = None
    last_ts: str | None = None
    events: int = 0
    first_seq: int | None = None
    last_seq: int = -1
    passed_over: bool = False
    packed: bytes | None = None
    unpacked: Work | None = None

    @property
    def is_driven(self) -> bool:
        """Whether rekindle drives it, so that only its own word counts."""
        return self.start is not None and self.start.driver == DRIVER

    @property
    def work(self) -> Work:
        """What the run has done."""
        if self.unpacked is None:
            self.unpacked = _decode_work(self.packed) if self.packed is not None else Work()
            self.packed = None
        return self.unpacked

    def pack(self) -> None:
        """Pack the work again."""
        if self.unpacked is not None:
            self.packed, self.unpacked = _encode_work(self.unpacked), None
