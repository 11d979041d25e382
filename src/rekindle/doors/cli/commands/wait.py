"""`rekindle wait`: until a session, a job or a feature's run is over, for scripts and people who come back later."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable

import click

from rekindle.app.waiting import WaitOutcome
from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli import jobs, questions
from rekindle.doors.cli.leaving import LEAVES, job_running, still_running
from rekindle.doors.cli.limits import Duration
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import complete_resumable, json_option, print_json
from rekindle.doors.cli.outcome import INTERRUPTED
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.receipts import receipt_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import RekindleError

_LOOK_SECONDS = 0.5
#: The id of a job, or its beginning. No session's id begins with a j.
_JOB = re.compile(r"j[0-9a-f]{1,8}")

#: One check that waits up to so many seconds: returns how it ended, if it did, and its state.
Look = Callable[[float], tuple[WaitOutcome | None, str]]


@click.command()
@click.argument("what", shell_complete=complete_resumable)
@click.option("--timeout", type=Duration(), help="Give up waiting after this time, e.g. 90s, 15m or 2h.")
@json_option
def wait(what: str, timeout: float | None, as_json: bool) -> int:
    """Wait until WHAT is over: the turn of a session's agent, a job, or a feature's run. Prints how it ended and what
    to do next.

    \b
    Exit status:
      0    it finished
      1    it failed, was interrupted, cancelled or stopped at a limit; or the timeout came first
      2    there is no such session, job or feature
      3    a question must be answered before it continues (the question is printed)
      130  Ctrl-C: it keeps running
    """
    feature = use_cases().waiting().feature_meant(what)
    if feature is None and _JOB.fullmatch(what):
        return _wait_for_job(what, timeout, as_json=as_json)
    name, look = (what, _session(what)) if feature is None else (feature, _feature(feature))
    try:
        if sys.stderr.isatty() and not as_json:
            print(f"Waiting for {printable(name)}; {LEAVES}.", file=sys.stderr)
        found = _wait(name, look, timeout)
    except KeyboardInterrupt:
        print_lines(["", *still_running(name)], err=True)
        return INTERRUPTED
    if found.question is not None:
        raise questions.unasked(found.question)
    if as_json:
        print_json(found.document)
    else:
        _print(found)
    return 0 if found.is_well else 1


def _wait_for_job(what: str, timeout: float | None, *, as_json: bool) -> int:
    """A job has its own ends, and its own way to be shown."""
    cases = use_cases().jobs()
    name = cases.show(what)["id"]
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        while True:
            left = _LOOK_SECONDS if deadline is None else min(_LOOK_SECONDS, max(deadline - time.monotonic(), 0.0))
            job, rested = cases.wait(name, left)
            if rested:
                break
            if deadline is not None and time.monotonic() >= deadline:
                raise RekindleError(
                    f"{name} is still {job['status']}: the timeout is over",
                    f"keep waiting: rekindle wait {name}; or look at it: rekindle job show {name}",
                    code="timeout",
                )
    except KeyboardInterrupt:
        print_lines(["", *job_running(name)], err=True)
        return INTERRUPTED
    if as_json:
        print_json({"job": job})
    else:
        for text in jobs.lines(job, time.time()):
            print(text, file=sys.stdout if job["status"] == "done" else sys.stderr)
    return jobs.exit_status(job)


def _session(session: str) -> Look:
    waiting = use_cases().waiting()
    name = use_cases().sessions().meant(session)

    def look(seconds: float) -> tuple[WaitOutcome | None, str]:
        found, told = waiting.session(name, seconds)
        return found, told["status"]

    return look


def _feature(feature: str) -> Look:
    waiting, cwd = use_cases().waiting(), os.getcwd()

    def look(seconds: float) -> tuple[WaitOutcome | None, str]:
        found = waiting.feature(cwd, feature)
        if found is None:
            time.sleep(seconds)
        return found, "running"

    return look


def _wait(name: str, look: Look, timeout: float | None) -> WaitOutcome:
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        left = _LOOK_SECONDS if deadline is None else min(_LOOK_SECONDS, max(deadline - time.monotonic(), 0.0))
        found, state = look(left)
        if found is not None:
            return found
        if deadline is not None and time.monotonic() >= deadline:
            raise RekindleError(
                f"{name} is still {state}: the timeout is over",
                f"keep waiting: rekindle wait {quoted(name)}; or watch it: rekindle attach {quoted(name)}",
                code="timeout",
            )


def _print(found: WaitOutcome) -> None:
    """The end for a person: what happened, why, and the next command. A bad end goes to stderr."""
    to = sys.stdout if found.is_well else sys.stderr
    name = printable(found.name)
    if found.is_well:
        print(f"{name}: {'finished its turn' if found.how == 'finished' else found.how}.", file=to)
    else:
        why = f": {printable(found.why)}" if found.why else ""
        how = "stopped" if found.how == "user_cancelled" else found.how
        print_lines([f"rekindle: {name}: {printable(how)}{why}"], err=True)
    for line in receipt_lines(found.told.get("receipt")):
        print(f"  {line}", file=to)
    if found.next:
        print(f"  {next_step(found.next)}", file=to)
