"""`rekindle boot`: have the daemon started with the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
import msgspec

from rekindle.core.boot import BootState, BootWay
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases


@click.group()
def boot() -> None:
    """Start rekindle with the machine, so that interrupted agents come back after a reboot.

    \b
    rekindle boot install
    rekindle boot status

    Sessions with `--policy continue` go on by themselves; for the others `rekindle` lists what was interrupted.
    """


@boot.command(short_help="Start rekindle with the machine.")
@click.option(
    "--with", "way", type=click.Choice(["systemd", "cron"]), help="Use this one. Without it: systemd, else cron."
)
@json_option
def install(way: BootWay | None, as_json: bool) -> None:
    """Install a systemd user unit or, without systemd, a crontab entry that looks every few minutes."""
    state = use_cases().booting().install(way)
    if as_json:
        print_json({"boot": msgspec.to_builtins(state)})
        return
    print_lines([f"rekindle starts with the machine now, by {state.way} ({printable(state.place)})."])
    _print_notes(state)


@boot.command(short_help="Show what starts rekindle with the machine.")
@json_option
def status(as_json: bool) -> None:
    """Show what starts rekindle with the machine, and what may keep it from working."""
    states = use_cases().booting().status()
    if as_json:
        print_json({"boot": msgspec.to_builtins(states)})
        return
    for state in states:
        print_lines([f"{state.way:8} {_word(state)}"])
        _print_notes(state)
    if told := list(without_any(states)):
        print_lines(["", *told])


@boot.command()
@json_option
def remove(as_json: bool) -> None:
    """Remove the entry. The daemon and all agents keep running."""
    removed = use_cases().booting().remove()
    if as_json:
        print_json({"removed": removed})
    elif removed:
        print_lines([f"Removed: {', '.join(removed)}. Nothing starts rekindle after a reboot any more."])
    else:
        print_lines(["Nothing was installed."])


def without_any(states: Sequence[BootState]) -> Iterator[str]:
    """What it means that nothing is installed, and what to type where that can be changed."""
    if any(state.installed for state in states):
        return
    yield "Nothing starts rekindle after a reboot; your next rekindle command does."
    can = any(state.usable for state in states)
    yield f"  {next_step('rekindle boot install')}" if can else "  To change that, install systemd or cron."


def _word(state: BootState) -> str:
    if not state.usable:
        left = "; an old entry is still there" if state.installed else ""
        return f"not available: {printable(state.why)}{left}"
    if not state.installed:
        return "not installed"
    running = {True: ", running", False: ", not running", None: ""}[state.active]
    old = "" if state.current else ", out of date: rekindle boot install"
    return f"installed{running}{old} ({printable(state.place)})"


def _print_notes(state: BootState) -> None:
    for note in state.notes:
        print_lines([f"         {printable(note)}"])
