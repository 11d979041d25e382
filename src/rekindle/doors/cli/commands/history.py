"""`rekindle history`: the runs of all features, by date."""

from __future__ import annotations

import dataclasses
import sys

import click

from rekindle.core.journal.overview import sentences
from rekindle.core.terminal_text import printable
from rekindle.doors.cli.options import feature_option, json_option, print_json
from rekindle.doors.cli.use_cases import use_cases


@click.command()
@feature_option
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show only the newest N dates.")
@click.option("--markdown", is_flag=True, help="Print Markdown, for a file or a message.")
@json_option
def history(feature: str | None, limit: int | None, markdown: bool, as_json: bool) -> None:
    """Show what happened in this repository's features, newest date first (dates are UTC)."""
    found = use_cases().features().history(feature, limit)
    for problem in found.problems:
        print(f"rekindle: {printable(problem)}", file=sys.stderr)
    dates = found.dates
    if as_json:
        print_json({"dates": {date: [dataclasses.asdict(line) for line in runs] for date, runs in dates.items()}})
        return
    if not dates:
        print("Nothing has happened yet.")
    for date, runs in dates.items():
        print(f"## {printable(date)}\n" if markdown else printable(date))
        for run in runs:
            first, *rest = (printable(sentence) for sentence in sentences(run))
            print(f"- {_escaped(first)}" if markdown else f"  {first}")
            for sentence in rest:
                print(f"  - {_escaped(sentence)}" if markdown else f"      {sentence}")
        print()


def _escaped(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in text)
