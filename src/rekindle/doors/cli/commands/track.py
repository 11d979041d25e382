"""`rekindle track` and `rekindle checkpoint`: events written by hand, by a script or by an agent."""

from __future__ import annotations

import json
import os
import secrets
import sys
from datetime import datetime
from typing import Any

import click

from rekindle.adapters.journal_file import run_owner
from rekindle.adapters.machine.ancestry import is_inside, refuse_inside
from rekindle.adapters.workspace.git_workspace import Workspace, checked_name
from rekindle.core.inside import may_track
from rekindle.core.journal import event as ev
from rekindle.core.journal.analysis import analyse
from rekindle.core.journal.draft import SHORT, CannotDraft, Draft, draft, names_in
from rekindle.core.journal.fold import JournalState
from rekindle.core.journal.lineage import lineages
from rekindle.core.journal.orders import CLAIMED, decides
from rekindle.core.journal.run import COMPLETE
from rekindle.doors.cli.options import feature_option, json_option, print_json, workspace
from rekindle.doors.cli.outcome import printable
from rekindle.doors.cli.status import quoted
from rekindle.ports.errors import BadEvent, NoOpenRun, OwnedError
from rekindle.ports.journal import Appended, NewEvent, Sync

_PANES = ("TMUX_PANE", "ZELLIJ_PANE_ID", "STY", "WEZTERM_PANE", "KITTY_WINDOW_ID")


@click.command(
    epilog="Short forms: " + ", ".join(f"{short} ({full})" for short, full in SHORT.items()) + ".",
)
@click.argument("type_", metavar="TYPE")
@click.argument("message", required=False)
@click.option("--task", metavar="ID", help="The task that the event is about.")
@click.option("--agent", metavar="NAME", help="The agent that the event is about, or that reports it.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file of the task; may be given again.")
@click.option("--data", metavar="JSON", help="More fields, as a JSON object; - reads it from standard input.")
@click.option("--run", "sid", metavar="SID", help="The run; by default the newest one that has not ended.")
@click.option("--event-id", metavar="ID", help="An id of yours: an event with the same id is written once.")
@click.option("--sync", type=click.Choice([policy.value for policy in Sync]), help="When it has to be on disk.")
@feature_option
@json_option
def track(
    type_: str,
    message: str | None,
    task: str | None,
    agent: str | None,
    files: tuple[str, ...],
    data: str | None,
    sid: str | None,
    event_id: str | None,
    sync: str | None,
    feature: str | None,
    as_json: bool,
) -> None:
    """Append an event of TYPE to the feature's journal. It is on disk before this returns, unless --sync none is given.

    TYPE is a type of the journal, such as session.start, plan.created or task.started, or a short form. MESSAGE becomes
    the summary, error, description or reason that the type has.
    """
    made = _drafted(type_, task, message, files, _parsed(data), agent)
    if not may_track(made.type):
        refuse_inside(f"write {made.type}", f"rekindle resume {feature or ''}".rstrip())
    here = workspace()
    name = here.feature(feature)
    done = _write(here, name, made, agent, sid, event_id, Sync(sync) if sync else None)
    if not made.known:
        print(f"rekindle: {made.type} is not a type that the analysis looks at; it is kept as it is", file=sys.stderr)
    _tell(done, made.type, name, as_json=as_json)


@click.command()
@click.argument("label")
@click.option("--next", "step", required=True, metavar="STEP", help="The step at which a resume goes on.")
@click.option("--not-resumable", is_flag=True, help="Note the point, but do not resume at it.")
@feature_option
@json_option
def checkpoint(label: str, step: str, not_resumable: bool, feature: str | None, as_json: bool) -> None:
    """Mark a point that is safe to resume at; issues from before it are settled by it."""
    here = workspace()
    name = here.feature(feature)
    data = {
        "label": label,
        "branch": here.repository.branch,
        "plan_step": step,
        "resumable": not not_resumable,
    }
    done = _write(here, name, Draft(ev.CHECKPOINT, data, True), None, None, None, None)
    _tell(done, ev.CHECKPOINT, name, as_json=as_json)


def _drafted(
    type_: str,
    task: str | None,
    message: str | None,
    files: tuple[str, ...],
    data: dict[str, Any],
    agent: str | None,
) -> Draft:
    if task is not None:
        checked_name(task, "task")
    if agent is not None:
        checked_name(agent, "agent")
    try:
        made = draft(type_, task=task, message=message, files=files, data=data, agent=agent)
    except CannotDraft as error:
        raise BadEvent(error.message, error.hint) from error
    for what, found in names_in(made):
        checked_name(found, what)
    return made


def _write(
    here: Workspace,
    name: str,
    made: Draft,
    agent: str | None,
    sid: str | None,
    event_id: str | None,
    sync: Sync | None,
) -> Appended:
    journal = here.writable(name, sync)
    try:
        if event_id is not None and journal.knows(event_id):
            return Appended(None, None, written=False)
        state = journal.state()
        fresh = made.type == ev.SESSION_START and sid is None
        data = made.data
        if fresh:
            data = _start_data(here, name, state, data)
            sid = secrets.token_hex(4)
        else:
            sid = sid or os.environ.get("REKINDLE_SID") or _open_run(state, name)
            if sid not in state.sids or state.sids[sid].ended:
                problem = "has ended" if sid in state.sids else "is not in its journal"
                raise NoOpenRun(f"run {sid!r} of {name} {problem}", f"`rekindle analyze {quoted(name)}` lists its runs")
            data = _end_data(state, sid, data) if made.type == ev.SESSION_END else data
        pane = next((os.environ[key] for key in _PANES if os.environ.get(key)), None)
        by_agent = decides(made.type) and is_inside()
        event = NewEvent(made.type, data, agent=agent, pane_id=pane, event_id=event_id, by_agent=by_agent)
        done = journal.append(event, sid=sid, fresh=fresh)
        if made.type == ev.SESSION_END and not done.claimed:
            run_owner.forget(str(here.folder(name)), sid)
        return done
    finally:
        journal.close()


def _start_data(here: Workspace, name: str, state: JournalState, given: dict[str, Any]) -> dict[str, Any]:
    holder = here.owner(name)
    if holder is not None and holder.sid in state.sids and not state.sids[holder.sid].ended:
        where = f"held by pid {holder.pid}" if holder.verdict == "alive" else "held on another host"
        raise OwnedError(
            f"run {holder.sid} of {name} is {where}", f"wait for it, or end it with `rekindle abandon {name}`"
        )
    open_runs = analyse(state).interrupted
    command = given.get("command", "implement")
    if open_runs and command != "resume" and "restarts" not in given:
        print(
            f"rekindle: run {printable(open_runs[0])} of {name} never ended; to go on with it instead, start with "
            '--data \'{"command": "resume"}\'',
            file=sys.stderr,
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
            data["duration_s"] = max(0, round(datetime.now(began.tzinfo).timestamp() - began.timestamp()))
    data.update(given)
    if data["reason"] not in ("completed", "user_cancelled", "error"):
        raise BadEvent(f"{data['reason']!r} is not a reason to end a run", "it is completed, user_cancelled or error")
    return data


def _open_run(state: JournalState, name: str) -> str:
    links = lineages(state)
    if not links.interrupted:
        raise NoOpenRun(f"{name} has no run that is open", "begin one with `rekindle track session.start`")
    return links.interrupted[0]


def _time(ts: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat(ts) if ts else None
    except ValueError:
        return None


def _parsed(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        if text == "-":
            text = sys.stdin.read()
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadEvent(f"--data is not valid JSON ({error})", 'give an object such as \'{"key": "value"}\'') from error
    if not isinstance(value, dict):
        raise BadEvent("--data is not a JSON object", 'give an object such as \'{"key": "value"}\'')
    return value


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _tell(done: Appended, type_: str, feature: str, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "feature": feature,
                "type": type_,
                "sid": done.sid,
                "seq": done.seq,
                "written": done.written,
                "claimed": done.claimed,
            }
        )
    elif done.claimed:
        print(f"{feature}: kept as {CLAIMED}{type_}, event {done.seq} of run {printable(str(done.sid))}")
        print("rekindle: it decides nothing: rekindle drives this run, and goes by its own word", file=sys.stderr)
    elif done.written:
        print(f"{feature}: {type_} is event {done.seq} of run {printable(str(done.sid))}")
    else:
        print(f"{feature}: an event with this id is in the journal already; nothing was written")
