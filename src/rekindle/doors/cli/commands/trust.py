"""`rekindle trust`: lets a person approve the programs that a repository configures."""

from __future__ import annotations

import sys
from typing import Any

import click

from rekindle.core.git_trust import Definition
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import json_option, print_json
from rekindle.doors.cli.printing import print_lines
from rekindle.doors.cli.use_cases import use_cases
from rekindle.ports.errors import QuestionError
from rekindle.ports.git_filters import DefinedFilters


@click.group()
def trust() -> None:
    """Approve programs that this repository configures."""


@trust.command(short_help="Let this repository's own filters run.")
@click.option("--yes", is_flag=True, help="Approve them without asking.")
@click.option("--forget", is_flag=True, help="Withdraw an earlier approval.")
@json_option
def filters(yes: bool, forget: bool, as_json: bool) -> int:
    """Show the filters and merge drivers of this repository's own git configuration, and ask whether they may run.

    Your approval applies to this repository and to exactly these definitions. Without it, files that need such a filter
    are neither committed nor snapshotted. Filters from your global and system configuration always run.
    """
    if yes and forget:
        raise click.UsageError("--yes and --forget exclude each other.")
    trust_here = use_cases().filters()
    if forget:
        found = trust_here.forget()
    else:
        found = trust_here.settle(lambda seen: _is_approved(seen, yes=yes, may_ask=not as_json))
    if as_json:
        print_json({"repository": found.common, "filters": [_row(found, one) for one in found.defined]})
    else:
        _print(found)
    return 0


def _is_approved(found: DefinedFilters, *, yes: bool, may_ask: bool) -> bool:
    """Whether a person approves them."""
    if not yes and not may_ask:
        return False
    if yes:
        return True
    _print(found)
    if not sys.stdin.isatty():
        raise QuestionError(
            "there is no terminal to ask whether these may run", "approve them with `rekindle trust filters --yes`"
        )
    return click.confirm("May they run in this repository?", default=False)


def _row(found: DefinedFilters, one: Definition) -> dict[str, Any]:
    return {
        "kind": one.kind,
        "name": one.name,
        "commands": dict(one.commands),
        "approved": one not in found.withheld,
        "fingerprint": one.fingerprint,
    }


def _print(found: DefinedFilters) -> None:
    if not found.defined:
        print_lines(["The git configuration of this repository defines no filters and no merge drivers of its own."])
    for one in found.defined:
        state = "not approved" if one in found.withheld else "approved"
        print_lines([f"{'filter' if one.kind == 'filter' else 'merge driver'} {printable(one.name)} ({state})"])
        for variable, command in one.commands:
            print_lines([f"  {variable:8} {printable(command)}"])
