"""What the events of one run add up to.

`RunState` is everything that recovery needs to know of a run, small enough to be kept in a snapshot and made
so that the states of a lineage can be laid over one another (lineage.py) without reading their events again.
`evolve` is the only place where an event changes it. It expects a run's events in their order, each once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.core.journal import event as ev
from rekindle.core.journal.event import Event
from rekindle.core.journal.orders import CLAIMED, DRIVER

PENDING = "PENDING"
IN_PROGRESS = "IN_PROGRESS"
COMPLETE = "COMPLETE"
FAILED = "FAILED"
SKIPPED = "SKIPPED"

_STATUS = {
    ev.TASK_STARTED: IN_PROGRESS,
    ev.TASK_COMPLETED: COMPLETE,
    ev.TASK_FAILED: FAILED,
    ev.TASK_SKIPPED: SKIPPED,
}


class Gap(msgspec.Struct, frozen=True):
    """Sequence numbers that a run should have and has not."""

    sid: str
    after_seq: int
    expected_seq: int
    actual_seq: int
    missing_count: int


class Issue(msgspec.Struct, frozen=True):
    """An error, blocker, failure or warning, as it was reported. `commit` is what it is about, if it says so."""

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
        """Where it was met, as `file:line`; empty if nobody said."""
        return f"{self.file}:{self.line}" if self.file and self.line is not None else self.file or ""


class Checkpoint(msgspec.Struct, frozen=True):
    """The last point that was declared safe to resume at."""

    sid: str
    seq: int | None
    label: Any
    branch: Any
    plan_step: Any


class RunStart(msgspec.Struct, frozen=True):
    """What a run said of itself when it began."""

    command: str | None
    branch: str | None
    mode: str | None
    resumes: str | None
    restarts: str | None
    team: str | None
    driver: str | None = None


class RecordedPlan(msgspec.Struct, frozen=True):
    """The plan as it was written, kept raw: it is shown and handed on, not interpreted here."""

    tasks: list[Any] = []
    waves: list[Any] = []
    dependencies: list[Any] = []


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
    """The last word of quality assurance on a task: started, passed or failed, and on which commit of it."""

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
    """A branch that the journal knows of, and the commit that it was merged with. None: this run does not say."""

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
    """A line that we did not write, and that does not count: in a run of ours, or of a run that intrudes on one.

    `intruder` is what the user can say yes to such a run with; empty for a line in a run of ours.
    """

    line: int
    sid: str | None
    type: str
    intruder: str = ""


class Work(msgspec.Struct):
    """What a run has done and what it met with: the larger part of its state, which only its own lineage needs."""

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
    decided: list[tuple[str, int]] = []
    choices: list[EarlierChoice] = []
    claims: list[Claim] = []


_encode_work = msgspec.msgpack.Encoder().encode
_decode_work = msgspec.msgpack.Decoder(Work).decode


class RunState(msgspec.Struct):
    """One sid. `is_run` is False while it has shown nothing but the events of a stray hook.

    `work` stays packed, as a snapshot has it, until somebody asks for it.
    """

    sid: str
    is_run: bool = False
    ended: bool = False
    end_reason: str | None = None
    start: RunStart | None = None
    feature: str | None = None
    first_ts: str | None = None
    last_ts: str | None = None
    events: int = 0
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
        """Put the work away."""
        if self.unpacked is not None:
            self.packed, self.unpacked = _encode_work(self.unpacked), None


def count(run: RunState, seq: int | None, feature: str | None, ts: str | None) -> None:
    """Take note that an event of this run stands here, whatever it says."""
    run.events += 1
    if feature is not None:
        run.feature = feature
    if ts is not None:
        if run.first_ts is None:
            run.first_ts = ts
        run.last_ts = ts
    if seq is not None:
        missing = seq - run.last_seq - 1
        if missing > 0:
            run.work.gaps.append(Gap(run.sid, run.last_seq, run.last_seq + 1, seq, missing))
        run.last_seq = seq


def evolve(run: RunState, event: Event) -> None:
    """Let one event change what the run amounts to."""
    if event.sid is not None and not run.is_run and ev.makes_run(event.type):
        run.is_run = True
    handler = _HANDLERS.get(event.type)
    if handler is not None:
        handler(run, event)
    elif event.type.startswith(CLAIMED):
        claimed = event.type.removeprefix(CLAIMED)
        run.work.claims.append(Claim(run.sid, event.seq, claimed, ev.task_of(event.data)))


def _session_start(run: RunState, event: Event) -> None:
    if run.start is None and event.sid is not None:
        field = {key: ev.text(event.data.get(key)) for key in RunStart.__struct_fields__}
        run.start = RunStart(**field)


def _session_end(run: RunState, event: Event) -> None:
    run.ended = True
    run.end_reason = ev.text(event.data.get("reason"))


def _plan(run: RunState, event: Event) -> None:
    data = event.data
    tasks = data.get("tasks")
    if isinstance(tasks, list):
        for item in tasks:
            if not isinstance(item, dict):
                continue
            found = ev.task_id(item.get("id"))
            if found is not None:
                task = run.work.tasks.setdefault(found, RecordedTask())
                task.summary = ev.text(item.get("summary")) or task.summary
                task.agent = ev.text(item.get("agent")) or task.agent
    if event.type == ev.PLAN_CREATED or isinstance(tasks, list):
        run.work.plan = RecordedPlan(*(value if isinstance(value := data.get(key), list) else [] for key in _PLAN_KEYS))


_PLAN_KEYS = ("tasks", "waves", "dependencies")


def _checkpoint(run: RunState, event: Event) -> None:
    data = event.data
    if data.get("resumable") is False:
        return
    run.work.checkpoint = Checkpoint(run.sid, event.seq, data.get("label"), data.get("branch"), data.get("plan_step"))
    run.work.issues.clear()
    run.work.warnings.clear()


def _task(run: RunState, event: Event) -> None:
    data = event.data
    found = ev.task_of(data)
    if found is not None:
        task = run.work.tasks.setdefault(found, RecordedTask())
        task.status = _STATUS[event.type]
        task.summary = ev.text(data.get("summary")) or task.summary
        task.agent = ev.text(data.get("agent")) or task.agent
        for key in ("files", "files_changed"):
            if isinstance(data.get(key), list):
                setattr(task, key, data[key])
        failed = event.type == ev.TASK_FAILED
        task.error = ev.message_of(data) if failed else None
        task.attempts = _whole(data.get("attempts")) if failed else None
    if event.type == ev.TASK_FAILED:
        run.work.issues.append(_issue(run, event))


def _agent(run: RunState, event: Event) -> None:
    name = ev.text(event.data.get("name"))
    if name is None:
        return
    run.work.agents.pop(name, None)
    run.work.agents[name] = event.type == ev.AGENT_SPAWNED
    branch, task = ev.text(event.data.get("branch")), ev.task_of(event.data)
    if event.type == ev.AGENT_SPAWNED and branch:
        known = run.work.branches.setdefault(branch, RecordedBranch())
        known.task = task if task is not None else known.task


def _error(run: RunState, event: Event) -> None:
    run.work.issues.append(_issue(run, event, resolved=event.data.get("resolved") is True))


def _blocker(run: RunState, event: Event) -> None:
    run.work.issues.append(_issue(run, event))


def _warning(run: RunState, event: Event) -> None:
    run.work.warnings.append(_issue(run, event))


def _decided(run: RunState, event: Event) -> None:
    listed = event.data.get("issues")
    for item in listed if isinstance(listed, list) else []:
        if isinstance(item, dict):
            sid, seq = item.get("sid"), _whole(item.get("seq"))
            if isinstance(sid, str) and seq is not None:
                run.work.decided.append((sid, seq))
    tasks = event.data.get("tasks")
    named = [name for one in (tasks if isinstance(tasks, list) else []) if (name := ev.task_id(one)) is not None]
    told = ev.text(event.data.get("instructions")) or ""
    about = event.data.get("commits")
    commits = [one for item in (about if isinstance(about, list) else []) if (one := ev.commit_id(item)) is not None]
    run.work.choices.append(EarlierChoice(ev.text(event.data.get("choice")) or "", named, told, commits))


def _qa(run: RunState, event: Event) -> None:
    found = ev.task_of(event.data)
    if found is not None:
        issues = event.data.get("issues")
        said = issues if isinstance(issues, list) else []
        result, commit = event.type.removeprefix("qa."), ev.commit_id(event.data.get("commit"))
        run.work.qa[found] = Qa(result, _whole(event.data.get("round")), said, commit)


def _branch(run: RunState, event: Event) -> None:
    name = ev.text(event.data.get("name"))
    if name:
        branch = run.work.branches.setdefault(name, RecordedBranch())
        branch.merged = event.type == "branch.merged"
        branch.commit = ev.commit_id(event.data.get("commit")) if branch.merged else None
        task = ev.task_of(event.data)
        branch.task = task if task is not None else branch.task


def _worktree(run: RunState, event: Event) -> None:
    path = ev.text(event.data.get("path"))
    if path:
        removed = event.type == "worktree.removed"
        run.work.worktrees[path] = RecordedWorktree(None if removed else ev.text(event.data.get("branch")), removed)


def _issue(run: RunState, event: Event, *, resolved: bool = False) -> Issue:
    data = event.data
    return Issue(
        run.sid,
        event.seq,
        event.type,
        ev.task_of(data),
        ev.message_of(data),
        resolved,
        ev.text(data.get("file")),
        _whole(data.get("line")),
        _whole(data.get("attempts")),
        ev.commit_id(data.get("commit")),
    )


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_HANDLERS = {
    ev.SESSION_START: _session_start,
    ev.SESSION_END: _session_end,
    ev.PLAN_CREATED: _plan,
    ev.PLAN_UPDATED: _plan,
    ev.CHECKPOINT: _checkpoint,
    ev.TASK_STARTED: _task,
    ev.TASK_COMPLETED: _task,
    ev.TASK_FAILED: _task,
    ev.TASK_SKIPPED: _task,
    ev.AGENT_SPAWNED: _agent,
    ev.AGENT_COMPLETED: _agent,
    ev.AGENT_ERROR: _error,
    ev.ERROR_ENCOUNTERED: _error,
    ev.BLOCKER_REPORTED: _blocker,
    ev.WARNING_LOGGED: _warning,
    ev.RESUME_DECIDED: _decided,
    "qa.started": _qa,
    "qa.passed": _qa,
    "qa.failed": _qa,
    "branch.created": _branch,
    "branch.merged": _branch,
    "worktree.created": _worktree,
    "worktree.removed": _worktree,
}


def has_a_say(type_: str) -> bool:
    """Whether an event of this type can change what is known of tasks, agents, branches or the run itself."""
    return type_ in _HANDLERS or ev.makes_run(type_)


def changes_state(type_: str) -> bool:
    """Whether an event of this type can do more to a run than be counted."""
    return has_a_say(type_) or type_.startswith(CLAIMED)
