"""`rekindle worker`: this host takes jobs of the fleet; or takes no more, or lets go of those that it has."""

from __future__ import annotations

from typing import Any

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import daemon, json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import OwnedError, UsageError, not_in_fleet

_STATES = {
    "ready": "takes jobs (ready)",
    "cordoned": "takes no more jobs (cordoned); `rekindle worker uncordon` undoes that",
    "draining": "takes no more jobs and hands over those it has (draining); `rekindle worker uncordon` undoes that",
}


@click.group(invoke_without_command=True)
@click.option("--label", "labels", multiple=True, metavar="LABEL", help="What this host has, for jobs that need it.")
@click.option("--capacity", type=click.IntRange(min=1), help="Maximum jobs at once; default: what fits this machine.")
@click.pass_context
def worker(context: click.Context, labels: tuple[str, ...], capacity: int | None) -> int:
    """Run this host's daemon, and take jobs of the fleet, until it is stopped (Ctrl-C or SIGTERM).

    If it dies, its agents end by themselves before another host continues their jobs.
    """
    if context.invoked_subcommand is not None:
        return 0
    try:
        return use_cases().work(labels=labels, capacity=capacity)
    except OwnedError as error:
        if not (served := daemon()).is_served():
            raise
        raise OwnedError(
            f"a daemon runs on this host already (pid {served.holder()})",
            "stop it first: rekindle serve --stop; agents keep working meanwhile",
        ) from error


@worker.command("status")
@json_option
def status(as_json: bool) -> None:
    """Show whether this host takes jobs, and which ones it runs."""
    _show(_ask("worker_state"), as_json=as_json)


@worker.command("cordon")
@json_option
def cordon(as_json: bool) -> None:
    """Take no more jobs, and finish those that run here."""
    _show(_ask("worker_change", state="cordoned"), as_json=as_json)


@worker.command("drain")
@json_option
def drain(as_json: bool) -> None:
    """Take no more jobs, and hand over those that run here.

    Each moves to another host when its current turn ends.
    """
    _show(_ask("worker_change", state="draining"), as_json=as_json)


@worker.command("uncordon")
@json_option
def uncordon(as_json: bool) -> None:
    """Take jobs again."""
    _show(_ask("worker_change", state="ready"), as_json=as_json)


def _ask(operation: str, **values: Any) -> dict[str, Any]:
    try:
        return daemon().ask(operation, start=False, **values)
    except UsageError as error:
        if "no operation" not in error.message:
            raise
        raise not_in_fleet() from error


def _show(told: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(told)
        return
    if not told["is_worker"]:
        later = f" If it becomes one, it starts {told['state']}: `rekindle worker uncordon` undoes that."
        state = "" if told["state"] == "ready" else later
        way = "To make it one: `rekindle serve --stop`, then `rekindle worker`."
        print_lines([f"Host {told['host']} is not a worker: it only submits jobs. {way}{state}"])
        return
    labels = f"; labels: {' '.join(told['labels'])}" if told["labels"] else ""
    jobs = f": {' '.join(told['jobs'])}" if told["jobs"] else ""
    count = f"{len(told['jobs'])} of {told['capacity']} jobs"
    found = [f"Host {told['host']} {_STATES[told['state']]}; {count}{jobs}{labels}."]
    if told["trouble"]:
        found.append(f"It cannot take jobs at the moment: {printable(told['trouble'])}")
    print_lines(found)
