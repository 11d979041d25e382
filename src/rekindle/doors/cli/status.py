"""`rekindle` with no arguments: what needs a person here and among all sessions, then what works, then the rest.

It runs as often as `git status`, so it imports nothing that it does not need: no option parser, no typing.
"""

from __future__ import annotations

import os
import sys

from rekindle.core.session.words import CUT
from rekindle.core.terminal_text import printable
from rekindle.doors.cli import feature_list, governed
from rekindle.doors.cli.colours import Ink, are_wanted
from rekindle.doors.cli.measure import columns, wrapped
from rekindle.doors.cli.next_step import next_step
from rekindle.doors.cli.session_screen import AT_REST, FINISHED, Surface, grouped, rest_lines, table
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import NoRepository

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from rekindle.app.status import StatusReport


def show_status() -> None:
    """Print the status of the repository around the current folder, and of the user's sessions."""
    import time

    status = use_cases().status().status()
    if status.unasked:
        print(f"rekindle: {status.unasked}", file=sys.stderr)
    if not status.in_repository and not status.sessions:
        raise no_repository()
    told = list(lines(status, surface_of(sys.stdout.isatty(), os.environ, time.time()), _moved(status)))
    for line in (told[1:] if told[:1] == [""] else told) or _nothing_here():
        print(line)


def surface_of(on_terminal: bool, environment: Mapping[str, str], now: float) -> Surface:
    """Standard output as a screen."""
    ink = Ink(are_wanted(on_terminal, environment))
    return Surface(columns(on_terminal, environment), ink, now, environment.get("HOME", ""))


def no_repository() -> NoRepository:
    """The message if there is no repository."""
    where = os.getcwd()
    return NoRepository(f"{where} is not in a git repository", "run `git init`, or cd to the project's folder")


def _nothing_here() -> Iterator[str]:
    """Outside a repository, with finished sessions only: silence could mean anything."""
    yield "No open sessions (rekindle ps --all lists the finished ones)."
    yield f"{printable(os.getcwd())} is not in a git repository, so there are no features here."


def _moved(status: StatusReport) -> str:
    """The message about a repository that was moved: its journals are not known here until a resume has followed it."""
    if not any(found.get("is_foreign") for found in status.features.values()):
        return ""
    found = use_cases().moved().moved()
    return found.next if found is not None else ""


def lines(status: StatusReport, surface: Surface, moved: str = "") -> Iterator[str]:
    """The status as a person reads it. `moved` is the message about a repository that was moved."""
    if status.in_repository:
        yield _place(status)
    if status.in_repository and not status.features:
        yield ""
        yield "No feature has a journal yet."
        yield from _first_steps(status, surface)
    if moved:
        yield ""
        yield from wrapped(printable(moved), surface.width)
    told = list(governed.news(status.governor, surface.now))
    yield from (["", *told] if told else [])
    yield from feature_list.urgent(status.features, surface, is_moved=bool(moved))
    yield from open_sessions(status.apart(), surface)
    yield from feature_list.running(status.features, surface)
    yield from resting_sessions(status.apart())
    yield from feature_list.others(status.features)


def _first_steps(status: StatusReport, surface: Surface) -> Iterator[str]:
    """How to begin. Whoever has sessions knows how to run one."""
    if not status.sessions:
        yield "  " + next_step('rekindle run "what to do"', surface.ink)
    yield "  (a plan of several tasks: rekindle run --plan FILE)"
    yield "  (a journal kept by hand, on a branch feature/NAME: rekindle track)"


def _place(status: StatusReport) -> str:
    if not status.branch:
        return "No branch is checked out here"
    about = f" (feature {status.feature})" if status.feature else ""
    return f"On branch {printable(status.branch)}{about}"


def open_sessions(sessions: list[dict[str, Any]], surface: Surface) -> Iterator[str]:
    """The sessions that need a person, have lost their agent, wait for a limit to end, or work."""
    groups = {name: some for name, some in grouped(sessions).items() if name not in (AT_REST, FINISHED)}
    if not groups:
        return
    yield ""
    yield surface.ink.bold("Sessions (in any folder):")
    yield from table(groups, surface)
    cut = [one for some in groups.values() for one in some if one["status"] in CUT]
    if len(cut) > 1:
        yield f"{len(cut)} of them lost their agent; " + next_step("rekindle resume --all", surface.ink)


def resting_sessions(sessions: list[dict[str, Any]]) -> Iterator[str]:
    """How many sessions are at rest. Together with those above, this covers every session that is not over."""
    for line in rest_lines(grouped(sessions)):
        yield ""
        yield line
