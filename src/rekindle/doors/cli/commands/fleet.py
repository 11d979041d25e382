"""`rekindle fleet`: hosts that share a store, which of them has which session, taking one over, forgetting a host."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from rekindle.core.fleet.forgetting import FORGOTTEN_AFTER
from rekindle.core.quantities import duration
from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli.options import complete_sessions, daemon, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import UsageError, not_in_fleet
from rekindle.ports.hosts import NEVER_SECONDS, SILENT_SECONDS

#: What a session is called in which nothing happens by itself: that stays true, whatever becomes of its host.
_AT_REST = ("completed", "cancelled", "failed", "asleep", "interrupted", "dead")


@click.group()
def fleet() -> None:
    """Show the hosts that share one store, and take over a session from a host that is gone."""


@fleet.command(short_help="List all hosts, and their sessions.")
@json_option
def status(as_json: bool) -> None:
    """List the hosts and when each was last seen, then the sessions and how far each copy is behind.

    Hosts that may be gone come last.
    """
    told = _ask("fleet_status")
    print_json(told) if as_json else print_lines(_lines(told))


@fleet.command(short_help="Continue a session of a host that is gone.")
@click.argument("session", shell_complete=complete_sessions)
@click.option("--host-is-gone", is_flag=True, help="Its host is gone for good, or its agent has ended.")
@json_option
def takeover(session: str, host_is_gone: bool, as_json: bool) -> None:
    """Continue another host's session here: the same conversation, from what was copied off that host.

    From then on that host can no longer change the session; it keeps its files. Give the session's whole id.
    """
    told = _ask("fleet_take_over", session=session, host_is_gone=host_is_gone)
    if as_json:
        print_json(told)
    else:
        print_lines([f"{told['id']} is on this host now, in {printable(told['cwd'])}: rekindle show {told['id']}"])


@fleet.command(short_help="Take a host that is gone for good off the list.")
@click.argument("host")
@json_option
def forget(host: str, as_json: bool) -> None:
    """Take HOST off the list of `fleet status`: a machine that is gone for good.

    It has to be silent for an hour, and all its sessions have to be over or on other hosts. Nothing of any session is
    deleted. If the host comes back, it is listed again.
    """
    told = _ask("fleet_forget", host=host)
    if as_json:
        print_json(told)
        return
    found = [f"{printable(told['host'])} is not listed any more; it is again if it comes back."]
    if told["sessions"]:
        found.append(f"Its sessions have ended, and stay in the store: {', '.join(told['sessions'])}")
    if told["uncopied"]:
        found.append(f"The last words of these are on that host alone: {', '.join(told['uncopied'])}")
    print_lines(found)


@fleet.command(short_help="Make the key of a new fleet.")
@click.argument("file", type=click.Path())
@json_option
def key(file: str, as_json: bool) -> None:
    """Make the key of a new fleet, in a new FILE (0600). Copy it to every host and set fleet_key_file there."""
    use_cases().make_fleet_key(file)
    if as_json:
        print_json({"fleet_key_file": os.path.abspath(file)})
        return
    where = printable(os.path.abspath(file))
    print_lines(
        [
            f"The key is in {where}. Without it, nobody can read the copies that are kept off the hosts.",
            "  next: copy this file (0600) to every host, then type there:",
            f"  rekindle config set fleet_key_file {where}",
        ]
    )


def _ask(operation: str, **values: Any) -> dict[str, Any]:
    try:
        return daemon().ask(operation, **values)
    except UsageError as error:
        if "no operation" not in error.message:
            raise
        raise not_in_fleet() from error


def _lines(told: dict[str, Any]) -> list[str]:
    """What is shown. All of it was written by some host, and nothing of it may steer the terminal."""
    return [printable(line) for line in _raw_lines(told)]


def _raw_lines(told: dict[str, Any]) -> list[str]:
    placed = {one["id"]: one["host"] for one in told["sessions"]}
    # this host has just answered, whenever it last reported
    hosts = [{**one, "seen_seconds_ago": 0.0} if one["host"] == told["host"] else one for one in told["hosts"]]
    heard = {one["host"] for one in hosts if one["seen_seconds_ago"] < SILENT_SECONDS}
    found = [f"This is host {told['host']}.", *(_host(one, placed) for one in hosts)]
    if told["host"] not in heard:
        found.insert(1, f"host {printable(told['host'])}: starting, has not reported yet")
    for one in told["sessions"]:
        where = "here" if one["here"] else f"on {one['host']}"
        where = f"{where}, arriving" if one["arriving"] else where
        status = one["status"]
        if one["host"] not in heard and status not in _AT_REST:
            status = f"unknown ({status} at its last report)"
        found.append(f"{one['id']}  {where}  {status}  {_behind(one['behind'])}  {one['title']}")
    return found if told["sessions"] else [*found, "There are no sessions."]


def _host(one: dict[str, Any], placed: dict[str, str]) -> str:
    """A host in one line: whether it takes jobs and is there come first."""
    report = one["report"]
    most = f" of at most {report['capacity']}" if report["capacity"] is not None else ""
    is_silent = one["seen_seconds_ago"] >= SILENT_SECONDS
    is_long_gone = one["seen_seconds_ago"] >= FORGOTTEN_AFTER
    then = " at its last report" if is_silent else ""
    still = [each["session"] for each in report["running"] if placed.get(each["session"], one["host"]) != one["host"]]
    about = [
        f"host {one['host']}: {_state(one)}, {_seen(one['seen_seconds_ago'], is_silent=is_silent)}",
        f"{report['in_use']}{most} agents at work{then}",
        f"{one['sessions']} sessions" if one["sessions"] != 1 else "1 session",
        *([f"still runs {', '.join(still)}, which another host has"] if still and not is_silent else []),
        *([f"cannot take jobs: {report['trouble']}"] if report["trouble"] else []),
        *([f"labels {' '.join(report['labels'])}"] if report["labels"] else []),
        *([f"rekindle {report['version']}"] if report["version"] else []),
        *([f"if it is gone for good: rekindle fleet forget {quoted(one['host'])}"] if is_long_gone else []),
    ]
    return "; ".join(about)


def _state(one: dict[str, Any]) -> str:
    """What it is for the fleet's jobs. Earlier versions do not tell whether they take any."""
    if one["report"].get("is_worker") is False:
        return "not a worker" if one["state"] == "ready" else f"not a worker, {one['state']}"
    return str(one["state"])


def _seen(seconds: float, *, is_silent: bool) -> str:
    if not is_silent:
        return f"seen {seconds:.0f} s ago"
    if seconds >= NEVER_SECONDS:
        return "may be gone, and nobody knows when it was last seen"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(time.time() - seconds))
    return f"last seen on {when} ({duration(seconds)} ago), and may be gone"


def _behind(seconds: float | None) -> str:
    if seconds is None:
        return "not copied yet"
    return "copied" if seconds < 1 else f"{duration(seconds)} behind"
