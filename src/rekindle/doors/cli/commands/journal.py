"""`rekindle journal verify|repair`: the file itself."""

from __future__ import annotations

from pathlib import Path

import click

from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import complete_features, json_option, print_json
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.journal_files import JournalVerdict


@click.group()
def journal() -> None:
    """Verify or repair a journal file."""


@journal.command(short_help="Check every line of a journal.")
@click.argument("what", shell_complete=complete_features)
@json_option
def verify(what: str, as_json: bool) -> int:
    """Check every line of WHAT (a feature or a path) by the rules of `rekindle analyze`.

    Exits with 1 if a line is damaged or breaks a rule, and names each one.
    """
    found = use_cases().journals().verify(what)
    path, verdict = found.path, found.verdict
    if as_json:
        print_json(_object(path, verdict))
    else:
        _print(path, verdict)
    return 0 if verdict.is_sound else 1


@journal.command()
@click.argument("what", shell_complete=complete_features)
@json_option
def repair(what: str, as_json: bool) -> None:
    """Remove unreadable lines from WHAT (a feature or a path). The damaged original is kept next to it."""
    found = use_cases().journals().repair(what)
    path, verdict, kept = found.path, found.verdict, found.original
    if as_json:
        print_json({**_object(path, verdict), "original": str(kept) if kept else None})
    elif kept is None:
        print(f"{path}: {verdict.events} events, nothing to repair.")
    else:
        _print(path, verdict)
        print(f"Repaired. The damaged original is {kept}")


def _object(path: Path, verdict: JournalVerdict) -> dict[str, object]:
    return {
        "path": str(path),
        "lines": verdict.lines,
        "events": verdict.events,
        "whole": verdict.is_sound,
        "damaged": [{"line": line, "offset": offset, "problem": what} for line, offset, what in verdict.damaged],
        "unknown_version": list(verdict.unknown_version),
        "problems": [{"line": one.line, "rule": one.rule, "problem": one.problem} for one in verdict.problems],
        "torn_tail": verdict.torn_tail,
        "byte_order_mark": verdict.byte_order_mark,
    }


def _print(path: Path, verdict: JournalVerdict) -> None:
    if verdict.is_sound:
        print(f"{path}: {verdict.events} events, whole.")
    for line, offset, what in verdict.damaged[:50]:
        print(f"{path}:{line}: (byte {offset}) {what}")
    if len(verdict.damaged) > 50:
        print(f"… and {len(verdict.damaged) - 50} more damaged lines")
    for one in verdict.problems[:50]:
        print(f"{path}:{one.line}: {printable(one.problem)} ({one.rule})")
    if len(verdict.problems) > 50:
        print(f"… and {len(verdict.problems) - 50} more problems")
    if verdict.torn_tail:
        print(f"{path}: the last line has no newline (interrupted, or still being written); the next append closes it")
    if verdict.byte_order_mark:
        print(f"{path}: begins with a byte order mark (it is ignored)")
    if verdict.unknown_version:
        print(f"{path}: {len(verdict.unknown_version)} lines of an unknown version, not used")
