"""What each kind of event does to a run. Expects a run's events in order, each once."""

from __future__ import annotations

from rekindle.core.journal import event as ev
from rekindle.core.journal.event import Event
from rekindle.core.journal.orders import CLAIMED
from rekindle.core.journal.plan_parts import with_part
from rekindle.core.journal.run import (
    COMPLETE,
    FAILED,
    IN_PROGRESS,
    SKIPPED,
    Checkpoint,
    Claim,
    EarlierChoice,
    Gap,
    Issue,
    LaterEvent,
    Qa,
    RecordedBranch,
    RecordedTask,
    RecordedWorktree,
    RunStart,
    RunState,
)

_STATUS = {
    ev.TASK_STARTED: IN_PROGRESS,
    ev.TASK_COMPLETED: COMPLETE,
    ev.TASK_FAILED: FAILED,
    ev.TASK_SKIPPED: SKIPPED,
}


def count(run: RunState, seq: int | None, feature: str | None, ts: str | None) -> None:
    """Record that there is an event of this run here, whatever it says."""
    run.events += 1
    if feature is not None:
        run.feature = feature
    if ts is not None:
        if run.first_ts is None:
            run.first_ts = ts
        run.last_ts = ts
    if seq is not None:
        if run.first_seq is None:
            run.first_seq = seq
        missing = seq - run.last_seq - 1
        if missing > 0:
            run.work.gaps.append(Gap(run.sid, run.last_seq, run.last_seq + 1, seq, missing))
        run.last_seq = seq


def evolve(run: RunState, event: Event) -> None:
    """Apply one event to the run."""
    if event.sid is not None and not run.is_run and ev.makes_run(event.type):
        run.is_run = True
    handler = _HANDLERS.get(event.type)
    if handler is not None:
        handler(run, event)
        if handler is not _checkpoint:
            _note_later(run, event)
    elif event.type.startswith(CLAIMED):
        claimed = event.type.removeprefix(CLAIMED)
        run.work.claims.append(Claim(run.sid, event.seq, claimed, ev.task_of(event.data)))


#: How many events after the last checkpoint are kept and shown: a run without checkpoints may have any number.
LATER = 100


def _note_later(run: RunState, event: Event) -> None:
    work, data = run.work, event.data
    resolved = data.get("resolved")
    work.later.append(
        LaterEvent(
            run.sid,
            event.seq,
            event.type,
            ev.task_of(data),
            ev.text(data.get("name")) if event.type.startswith("agent.") else ev.text(data.get("agent")),
            resolved if isinstance(resolved, bool) else None,
        )
    )
    work.later_count += 1
    if len(work.later) > 2 * LATER:
        del work.later[:-LATER]


def _session_start(run: RunState, event: Event) -> None:
    if run.start is None and event.sid is not None:
        words = (key for key in RunStart.__struct_fields__ if key != "limits")
        limits = event.data.get("limits")
        run.start = RunStart(
            **{key: ev.text(event.data.get(key)) for key in words},
            limits=limits if isinstance(limits, dict) else None,
        )


def _session_end(run: RunState, event: Event) -> None:
    run.ended = True
    run.end_reason = ev.text(event.data.get("reason"))
    run.end_message = ev.text(event.data.get("message"))


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
        run.work.plan = with_part(run.work.plan, event.type, data)


def _checkpoint(run: RunState, event: Event) -> None:
    data = event.data
    if data.get("resumable") is False:
        return
    run.work.checkpoint = Checkpoint(run.sid, event.seq, data.get("label"), data.get("branch"), data.get("plan_step"))
    run.work.issues.clear()
    run.work.warnings.clear()
    run.work.later.clear()
    run.work.later_count = 0


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
