"""`rekindle track` and `rekindle checkpoint`: events written by hand, by a script or by an agent."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from rekindle.app.tracking import CheckpointRequest, Tracked, TrackRequest
from rekindle.core.journal.draft import SHORT
from rekindle.core.journal.orders import CLAIMED
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import feature_option, json_option, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import BadEvent
from rekindle.ports.journal import Sync


@click.command(
    epilog="Short forms: " + ", ".join(f"{short} ({full})" for short, full in SHORT.items()) + ".",
)
@click.argument("type_", metavar="TYPE")
@click.argument("message", required=False)
@click.option("--task", metavar="ID", help="The task of the event.")
@click.option("--agent", metavar="NAME", help="The agent of the event, or the agent that reports it.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file of the task; can be repeated.")
@click.option("--data", metavar="JSON", help="More fields, as a JSON object; - reads it from standard input.")
@click.option("--run", "sid", metavar="SID", help="The run; default: the newest one that has not ended.")
@click.option("--event-id", metavar="ID", help="Your own id: an event with the same id is written once.")
@click.option("--sync", type=click.Choice([policy.value for policy in Sync]), help="When the event has to be on disk.")
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
    the summary, error, description or reason, depending on the type.
    """
    asked = TrackRequest(
        type_, message, task, agent, files, _parsed(data), sid, event_id, Sync(sync) if sync else None, feature
    )
    _tell(use_cases().tracking().track(asked), as_json=as_json)


@click.command()
@click.argument("label")
@click.option("--next", "step", required=True, metavar="STEP", help="The step at which a resume continues.")
@click.option("--not-resumable", is_flag=True, help="Record the point, but do not resume at it.")
@feature_option
@json_option
def checkpoint(label: str, step: str, not_resumable: bool, feature: str | None, as_json: bool) -> None:
    """Mark a point where it is safe to resume. Earlier issues count as settled."""
    asked = CheckpointRequest(label, step, not not_resumable, feature)
    _tell(use_cases().tracking().checkpoint(asked), as_json=as_json)


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


def _tell(done: Tracked, *, as_json: bool) -> None:
    for notice in done.notices:
        print(f"rekindle: {notice}", file=sys.stderr)
    if as_json:
        print_json(
            {
                "feature": done.feature,
                "type": done.type,
                "sid": done.sid,
                "seq": done.seq,
                "written": done.written,
                "claimed": done.claimed,
            }
        )
    elif done.claimed:
        print(f"{done.feature}: kept as {CLAIMED}{done.type}, event {done.seq} of run {printable(str(done.sid))}")
        print("rekindle: it decides nothing: rekindle drives this run, and only its own events count", file=sys.stderr)
    elif done.written:
        print(f"{done.feature}: {done.type} is event {done.seq} of run {printable(str(done.sid))}")
    else:
        print(f"{done.feature}: the journal already has an event with this id; nothing was written")
