"""Events written by hand, by a script or by an agent: what may be written, to which run, and what is added to it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from rekindle.core.inside import may_track
from rekindle.core.journal import event as ev
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.draft import CannotDraft, Draft, draft, names_in
from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.lineage import lineages
from rekindle.core.journal.orders import decides
from rekindle.core.journal.run import COMPLETE
from rekindle.core.terminal_text import printable, quoted
from rekindle.ports.ancestry import Ancestry
from rekindle.ports.errors import BadEvent, NoOpenRun, OwnedError
from rekindle.ports.journal import Appended, NewEvent, Sync
from rekindle.ports.workspace import Workspace, checked_name

_PANES = ("TMUX_PANE", "ZELLIJ_PANE_ID", "STY", "WEZTERM_PANE", "KITTY_WINDOW_ID")
_REASONS = ("completed", "user_cancelled", "error")


class TrackRequest(msgspec.Struct, frozen=True):
    """An event as somebody gives it. `type` may be a short form, `event_id` makes a second append a no-op."""

    type: str
    message: str | None = None
    task: str | None = None
    agent: str | None = None
    files: tuple[str, ...] = ()
    data: dict[str, Any] = {}
    sid: str | None = None
    event_id: str | None = None
    sync: Sync | None = None
    feature: str | None = None


class CheckpointRequest(msgspec.Struct, frozen=True):
    """A point from which a resume may continue, with the next step."""

    label: str
    step: str
    resumable: bool = True
    feature: str | None = None


class Tracked(msgspec.Struct, frozen=True):
    """Where an event was written. `notices` are for the person who wrote it."""

    feature: str
    type: str
    sid: str | None
    seq: int | None
    written: bool
    claimed: bool
    notices: tuple[str, ...] = ()


class Tracking:
    """Writes events. `environment` says which run and which terminal pane the writer is in."""

    def __init__(self, open_here: Callable[[], Workspace], ancestry: Ancestry, environment: Mapping[str, str]) -> None:
        self._open_here = open_here
        self._ancestry = ancestry
        self._environment = environment

    def track(self, asked: TrackRequest) -> Tracked:
        """Append an event to a feature's journal. It is on disk on return if its sync policy says so."""
        made = _drafted(asked)
        if not may_track(made.type):
            self._ancestry.refuse_inside(f"write {made.type}", f"rekindle resume {asked.feature or ''}".rstrip())
        here = self._open_here()
        return self._write(here, here.feature(asked.feature), made, asked)

    def checkpoint(self, asked: CheckpointRequest) -> Tracked:
        """Mark a point where it is safe to resume."""
        here = self._open_here()
        name = here.feature(asked.feature)
        data = {
            "label": asked.label,
            "branch": here.repository.branch,
            "plan_step": asked.step,
            "resumable": asked.resumable,
        }
        return self._write(here, name, Draft(ev.CHECKPOINT, data, True), TrackRequest(ev.CHECKPOINT))

    def _write(self, here: Workspace, name: str, made: Draft, asked: TrackRequest) -> Tracked:
        journal = here.writable(name, asked.sync)
        notices: list[str] = []
        try:
            if asked.event_id is not None and journal.knows(asked.event_id):
                return _told(name, made, Appended(None, None, written=False), notices)
            state = journal.state()
            fresh = made.type == ev.SESSION_START and asked.sid is None
            data = made.data
            if fresh:
                data = _start_data(here, name, state, data, notices)
                sid = secrets.token_hex(4)
            else:
                sid = asked.sid or self._environment.get("REKINDLE_SID") or _open_run(state, name)
                _refuse_ended(state, sid, name)
                data = _end_data(state, sid, data) if made.type == ev.SESSION_END else data
            done = journal.append(self._event(made.type, data, asked), sid=sid, fresh=fresh)
            if made.type == ev.SESSION_END and not done.claimed:
                here.disown(name, sid)
            return _told(name, made, done, notices)
        finally:
            journal.close()

    def _event(self, type_: str, data: dict[str, Any], asked: TrackRequest) -> NewEvent:
        pane = next((self._environment[key] for key in _PANES if self._environment.get(key)), None)
        by_agent = decides(type_) and self._ancestry.is_inside()
        return NewEvent(type_, data, agent=asked.agent, pane_id=pane, event_id=asked.event_id, by_agent=by_agent)


def _told(name: str, made: Draft, done: Appended, notices: list[str]) -> Tracked:
    if not made.known:
        notices.append(f"{made.type} is not a type that the analysis uses; it is kept as it is")
    return Tracked(name, made.type, done.sid, done.seq, done.written, done.claimed, tuple(notices))


def _drafted(asked: TrackRequest) -> Draft:
    if asked.task is not None:
        checked_name(asked.task, "task")
    if asked.agent is not None:
        checked_name(asked.agent, "agent")
    try:
        made = draft(
            asked.type, task=asked.task, message=asked.message, files=asked.files, data=asked.data, agent=asked.agent
        )
    except CannotDraft as error:
        raise BadEvent(error.message, error.hint) from error
    for what, found in names_in(made):
        checked_name(found, what)
    return made


def _refuse_ended(state: JournalState, sid: str, name: str) -> None:
    if sid not in state.sids or state.sids[sid].ended:
        problem = "has ended" if sid in state.sids else "is not in its journal"
        raise NoOpenRun(f"run {sid!r} of {name} {problem}", f"`rekindle analyze {quoted(name)}` lists its runs")


def _start_data(
    here: Workspace, name: str, state: JournalState, given: dict[str, Any], notices: list[str]
) -> dict[str, Any]:
    holder = here.owner(name)
    if holder is not None and holder.sid in state.sids and not state.sids[holder.sid].ended:
        where = f"held by pid {holder.pid}" if holder.verdict == "alive" else "held on another host"
        raise OwnedError(
            f"run {holder.sid} of {name} is {where}", f"wait for it, or end it with `rekindle abandon {name}`"
        )
    open_runs = analyse(state).interrupted
    command = given.get("command", "implement")
    if open_runs and command != "resume" and "restarts" not in given:
        notices.append(
            f"run {printable(open_runs[0])} of {name} never ended; to continue it instead, start with "
            '--data \'{"command": "resume"}\''
        )
    return {
        "command": "implement",
        "feature": name,
        "branch": here.repository.branch,
        "mode": "standard",
        **given,
    }


def _end_data(state: JournalState, sid: str, given: dict[str, Any]) -> dict[str, Any]:
    run = state.sids.get(sid)
    data: dict[str, Any] = {"reason": "completed"}
    if run is not None:
        data["tasks_completed"] = sum(task.status == COMPLETE for task in run.work.tasks.values())
        began = _time(run.first_ts)
        if began is not None:
            data["duration_s"] = max(0, round(time.time() - began.timestamp()))
    data.update(given)
    if data["reason"] not in _REASONS:
        raise BadEvent(
            f"{data['reason']!r} is not a valid reason to end a run", "use completed, user_cancelled or error"
        )
    return data


def _open_run(state: JournalState, name: str) -> str:
    links = lineages(state)
    if not links.interrupted:
        raise NoOpenRun(f"{name} has no open run", "start one with `rekindle track session.start`")
    return links.interrupted[0]


def _time(ts: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(ts) if ts else None
    except ValueError:
        return None
