"""Jobs on the screen: one line each, one job in full, and following one until it ends."""

from __future__ import annotations

import sys
import time
from typing import Any

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.amounts import clock_time
from rekindle.doors.cli.leaving import job_running
from rekindle.doors.cli.live import LiveView
from rekindle.doors.cli.outcome import INTERRUPTED
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.receipts import receipt_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError

Told = dict[str, Any]
_LOOK_SECONDS = 0.5
#: How many snapshots are shown.
_MOST_SHOWN = 10


def line(job: Told, now: float) -> str:
    """One job in a list."""
    if job["every"]:
        status = "schedule" if job["status"] == "queued" else job["status"]
    else:
        status = job["status"]
    at = f"  at {clock_time(job['next_at'], now)}" if job["next_at"] is not None else ""
    host = f"  on {printable(job['host'])}" if job["host"] else ""
    why = f"  ({printable(job['why'])})" if job["status"] in ("queued", "running") and job["why"] else ""
    return f"{job['id']}  {status:9}  {printable(job['title'])}{at}{host}{why}"


def lines(job: Told, now: float) -> list[str]:
    """Everything about one job."""
    found = [f"Job {job['id']}: {job['status']}{': ' + printable(job['why']) if job['why'] else ''}"]
    found += [f"  {printable(job['title'])}"]
    if job["every"]:
        found.append(
            f"  every {printable(job['every'])} ({job['zone']}); runs so far: {', '.join(job['runs']) or 'none'}"
        )
    if job["next_at"] is not None:
        word = {"resume": "tried again (resume)", "fresh": "tried again (fresh)"}.get(job["retry"], "goes on")
        found.append(f"  {word} at {clock_time(job['next_at'], now)}")
    if not job["every"]:
        found.append(f"  {job['retries_left']} of {job['retries']} retries left; {_times(job['resume_count'])}")
    if job["claude_session_id"] is not None:
        saved = clock_time(job["claude_session_saved_at"] / 1000, now)
        found.append(f"  conversation {printable(job['claude_session_id'])}, saved {saved}")
    if job["session"] is not None:
        where = f", on host {printable(job['host'])}" if job["host"] else ""
        found.append(f"  session {job['session']}{where}")
    if len(job["steps"]) > 1:
        found += [_step(one) for one in job["steps"]]
    found += [f"  {one}" for one in receipt_lines(job["receipt"])]
    if job["later_steps"] and job["status"] in ("failed", "cancelled"):
        found.append(f"  not run: {', '.join(job['later_steps'])}")
    return [*found, *([f"  next: {job['next']}"] if job["next"] else [])]


def snapshots(job: Told) -> list[Told]:
    """The snapshots of the files of all its steps, oldest first. Each turn that changed something has one."""
    found: list[Told] = []
    for step in job["steps"]:
        if step["session"] is None:
            continue
        try:
            kept = use_cases().time_travel().listed(step["session"]).snapshots
        except RekindleError:  # its folder is gone, or is in no repository
            continue
        found += [
            {"step": step["name"], "session": step["session"], "id": one.id, "at": one.at, "reason": one.reason}
            for one in kept
        ]
    return found


def snapshot_lines(job: Told, kept: list[Told], now: float) -> list[str]:
    """The newest snapshots, and how to go on from one."""
    if not kept:
        return []
    many = len({one["step"] for one in kept}) > 1
    found = [f"  snapshots of its files{f', the last {_MOST_SHOWN}' if len(kept) > _MOST_SHOWN else ''}:"]
    for one in kept[-_MOST_SHOWN:]:
        step = f"{one['step']}: " if many else ""
        found.append(f"    {one['id'][:10]}  {clock_time(one['at'], now)}  {step}{printable(one['reason'])}")
    own = [one for one in kept if one["session"] == job["session"]]
    if own and job["status"] in ("failed", "cancelled"):
        found.append(f"  to go on from one: rekindle job retry {job['id']} --from {own[-1]['id'][:10]}")
    return found


def _times(count: int) -> str:
    return {0: "never resumed", 1: "resumed once"}.get(count, f"resumed {count} times")


def _step(step: Told) -> str:
    why = f": {printable(step['why'])}" if step["why"] else ""
    session = f" (session {step['session']})" if step["session"] is not None else ""
    return f"  step {step['name']}: {step['status'].replace('_', ' ')}{why}{session}"


def exit_status(job: Told) -> int:
    """0: done. 3: a person has to answer. 1: it ended in another way."""
    if job["status"] == "done":
        return 0
    return 3 if job["status"] == "waiting" else 1


def follow(name: str) -> int:
    """Show what the agents of a job say until it ends, or waits for a person. Ctrl-C leaves it running."""
    view, at, shown = LiveView(), 0, set[str]()
    conversation: Any = None
    try:
        while True:
            job, rested = use_cases().jobs().wait(name, _LOOK_SECONDS)
            for step in job["steps"][at:]:
                if step["session"] is None:
                    break
                if step["name"] not in shown:
                    shown.add(step["name"])
                    conversation = use_cases().conversations().follow(step["session"])
                    if len(job["steps"]) > 1:
                        print(f"Step {step['name']}: session {step['session']}.", file=sys.stderr)
                view.show(conversation.poll())
                if step["status"] != "done" and not rested:
                    break
                view.rest()
                at += 1
            sys.stdout.flush()
            if rested:
                view.rest()
                break
    except KeyboardInterrupt:
        print_lines(["", *job_running(name)], err=True)
        return INTERRUPTED
    for text in lines(job, time.time()):
        print(text, file=sys.stderr)
    return exit_status(job)
