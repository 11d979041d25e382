"""The commands about one session that ask the daemon: send, stop, cancel, hold, hurry, show."""

from __future__ import annotations

import time
from typing import Any

import click

from rekindle.core.terminal_text import printable, quoted
from rekindle.doors.cli import other_hosts, sending, session_page
from rekindle.doors.cli.next_step import advice, next_step
from rekindle.doors.cli.options import (
    complete_resumable,
    complete_sessions,
    daemon,
    json_option,
    print_json,
    who,
)
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.daemon import Daemon
from rekindle.ports.errors import RekindleError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@click.argument("text")
@click.option("--follow", "-f", is_flag=True, help="Show the agent's output.")
@json_option
def send(session: str, text: str, follow: bool, as_json: bool) -> int:
    """Send TEXT (- reads standard input) to the agent of SESSION. It is delivered once, in order.

    If the session has no agent, one is started first, in the same conversation if possible, and a receipt is printed.
    """
    return sending.send(session, text, follow=follow, as_json=as_json)


@click.command()
@click.argument("session", metavar="[WHAT]", required=False, shell_complete=complete_resumable)
@click.option("--all", "every", is_flag=True, help="Stop every live agent; in a fleet, of this host.")
@click.option("--fleet", is_flag=True, help="With --all: those of all other hosts, too.")
@click.option("--sleep", "to", flag_value="asleep", help="Only stop the process; a prompt wakes the session.")
@click.option("--completed", "to", flag_value="completed", help="Mark the session as completed.")
@json_option
def stop(session: str | None, every: bool, fleet: bool, to: str | None, as_json: bool) -> int | None:
    """Stop WHAT: a session's agent with its whole process tree, or a feature's run. Conversations are kept."""
    client = daemon()
    feature = use_cases().feature_resuming().meant(session, every=True) if session is not None else None
    if feature is not None:
        told = use_cases().feature_resuming().stop(feature)
        print_json(told) if as_json else print_lines(
            [f"{printable(feature)}: stopped.", f"  {next_step(f'rekindle resume {quoted(feature)}')}"]
        )
        return None
    if every == (session is not None):
        raise UsageError("give a session, or --all", "`rekindle ps` lists them")
    if fleet and not every:
        raise UsageError("--fleet belongs to --all", "a session is stopped wherever it is: rekindle stop SESSION")
    if every:
        is_any = client.is_served() or any(row["is_running"] for row in use_cases().sessions().rows())
        told = client.ask("stop_all", to=to or "cancelled", by=who()) if is_any else {"stopped": [], "failed": []}
        others = other_hosts.elsewhere(is_running=True)
        if fleet:
            told = _stop_each(client, others, to or "cancelled", told)
        elif others:
            told = {**told, "elsewhere": others}
        print_json(told) if as_json else _print_stopped(told)
        if not fleet and not as_json:
            other_hosts.say(others, "Agents were stopped", "rekindle stop --all --fleet stops those, too")
        return 1 if told.get("failed") else 0
    told = client.ask("stop", session=session, to=to or "cancelled", by=who())
    if told["is_running"]:  # somebody has brought it back already
        raise RekindleError(f"{told['id']}: its agent runs", "see `rekindle ps`, and try again")
    print_json(told) if as_json else print_lines(_stopped(told))
    return None


def _stop_each(client: Daemon, others: list[dict[str, Any]], to: str, told: dict[str, Any]) -> dict[str, Any]:
    """Stop sessions of other hosts, one by one. A host that does not answer finds the request when it is back."""
    stopped, failed = list(told["stopped"]), list(told.get("failed", []))
    for one in others:
        try:
            client.ask("stop", session=one["id"], to=to, by=who())
            stopped.append(one["id"])
        except RekindleError as error:
            failed.append({"id": one["id"], "reason": error.message, "next": error.hint})
    return {**told, "stopped": stopped, "failed": failed}


def _stopped(told: dict[str, Any]) -> list[str]:
    """What was stopped, and how it comes back."""
    name, status = told["id"], told["status"]
    if status == "completed":
        return [f"{name}: completed."]
    return [f"{name}: {status}. Its conversation is kept.", f"  {next_step(f'rekindle resume {name}')}"]


def _print_stopped(told: dict[str, Any]) -> None:
    failed = told.get("failed", [])  # a daemon of an older version does not say
    if told["stopped"] or not failed:
        print(f"Stopped: {', '.join(told['stopped']) or 'nothing was running'}.")
    for one in failed:
        print(f"Not stopped: {printable(one['reason'])}")
        print_lines(f"  {line}" for line in advice(printable(one["next"])))


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@json_option
def cancel(session: str, as_json: bool) -> None:
    """Cancel the current turn of SESSION. The agent stays."""
    told = daemon().ask("cancel", session=session)
    print_json(told) if as_json else print(f"{told['id']}: asked to end its turn.")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@json_option
def hold(session: str, as_json: bool) -> None:
    """Put SESSION on hold: nothing is done automatically about it until `rekindle resume SESSION`.

    A turn that is running goes on to its end, and what you send is sent. Use it for a session that waits for a limit.
    """
    told = daemon().ask("hold", session=session, by=who())
    if as_json:
        print_json(told)
        return
    back = next_step(f"rekindle resume {told['id']}")
    print_lines([f"{told['id']}: on hold until you resume it.", f"  {back}"])


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@json_option
def hurry(session: str, as_json: bool) -> None:
    """Let SESSION go on now: it does not wait for the end of a limit, for its place in the queue, or for a pause."""
    told = daemon().ask("hurry", session=session, by=who())
    print_json(told) if as_json else print(f"{told['id']}: it goes on now.")


@click.command()
@click.argument("session", shell_complete=complete_sessions)
@json_option
def show(session: str, as_json: bool) -> None:
    """Show everything about SESSION: its state, times, attempts, prompts and receipts."""
    told = daemon().ask("show", session=session)
    if as_json:
        print_json(told)
        return
    rules = told["session"]
    since = use_cases().runbooks().since(rules.get("rules_source", ""), rules.get("rules_digest", ""))
    print_lines(session_page.lines(told, time.time(), since), session_page.INDENT)
