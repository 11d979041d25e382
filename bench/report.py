"""Writes the results: a table for the terminal, `results.json`, and the page with its plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from bench.measured import Result, Row
from bench.plot import draw
from bench.stage import ROOT

RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"
PLOT = ROOT / "docs" / "benchmarks.svg"

_INTRO = """\
# Benchmarks

`make bench` wrote this page, `benchmarks.svg` beside it, and `bench/results.json`. Do not edit it: run it again.

**How to read it.** No figure here is a time. Machines differ and drift, so every row is a ratio: in each round the
benchmark runs a reference and rekindle one after the other, in changing order, and the row is the median over the
rounds. "10× as fast" means that the reference took ten times as long; "2× the time" means that rekindle took twice as
long as the reference. The references are part of the benchmark:

- *naive*: the resume protocol in plain Python (`bench/naive.py`), every line through `json.loads`;
- *node*: the same in JavaScript (`bench/naive.mjs`), readline and `JSON.parse`;
- *open, append, fsync*: what a program does that wants its line on disk and does not share the file with anybody;
- *python -c pass*: the interpreter's own start, in the same environment.

Journals are made by the program (`bench/journals.py`): 332 bytes a line on average, most lines as hooks write them,
many runs in a file, some of them interrupted, resumed, or with a torn line. They are in the page cache. Where reference
and rekindle give different answers, the benchmark fails instead of printing a figure.

Rows with a real agent (Claude Code, with a mock model on this machine) are skipped, and say so, where `make agents`
has not installed it. Rows about sizes (bytes, characters, syncs) are ratios too: "2× the time" is then twice as much.

**Retired.** "Append through the daemon" compared events per second with open, append, fsync. Where a sync takes
microseconds, that ratio measured the interpreter and not the daemon; its target could be met on slow disks only. Two
rows took its place: how many syncs the daemon needs per event, and how much processor time.
"""


def table(results: Sequence[Result]) -> str:
    """The rows for a terminal."""
    head = ("", "reference", "ratio", "target", "met")
    rows = [
        head,
        *((result.name, result.reference, ratio(result), target(result), verdict(result)) for result in results),
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def ratio(result: Result) -> str:
    """What came out, in words."""
    if result.ratio is None:
        return "–"
    shown = f"{result.ratio:,.0f}" if result.ratio >= 100 else f"{result.ratio:g}"
    return f"{shown}× as fast" if result.bound == "at least" else f"{shown}× the time"


def target(result: Result) -> str:
    """What was asked."""
    return f"{result.bound} {result.target:,g}×"


def verdict(result: Result) -> str:
    """Whether it was reached."""
    if "failed" in result.details:
        return "FAILED TO RUN"
    if "skipped" in result.details:
        return "SKIPPED"
    return "not judged" if result.met is None else "yes" if result.met else "NO"


def load() -> dict[str, Result]:
    """The rows of the last run, for a run of a few of them to be put among. Nothing, if they cannot be read."""
    try:
        return {row["name"]: Result(**row) for row in json.loads(RESULTS.read_text("utf-8"))}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def write(results: Sequence[Result], rows: Sequence[Row]) -> list[Path]:
    """Write all three files and say which they are."""
    PAGE.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n", "utf-8")
    PLOT.write_text(draw(results), "utf-8")
    PAGE.write_text(page(results, rows), "utf-8")
    return [RESULTS, PAGE, PLOT]


def page(results: Sequence[Result], rows: Sequence[Row]) -> str:
    """The page's Markdown."""
    known = {row.name: row for row in rows}
    missed = [result for result in results if result.met is False]
    parts = [_INTRO, "## Results\n", _markdown(results)]
    machines = {json.dumps(result.details.get("machine"), sort_keys=True): result for result in results}
    parts.extend(map(_measured_on, machines.values()))
    parts.append(_origin(results))
    parts.append("![How far each row is beyond its target](benchmarks.svg)\n")
    parts.append("## What is measured\n")
    parts.append("\n".join(f"- **{result.name}**: {known[result.name].what}" for result in results) + "\n")
    parts.append("## Targets that were not met\n")
    parts.extend(_miss(result, known[result.name]) for result in missed)
    if not missed:
        parts.append("None.\n")
    return "\n".join(parts)


def _markdown(results: Sequence[Result]) -> str:
    lines = ["| | reference | ratio | spread over the rounds | target | met |", "|---|---|---|---|---|---|"]
    for result in results:
        low, high = result.details.get("lowest"), result.details.get("highest")
        spread = f"{low:,g} – {high:,g}" if low is not None and high is not None else "–"
        met = verdict(result)
        cells = (result.name, result.reference, ratio(result), spread, target(result), met)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _measured_on(result: Result) -> str:
    machine = result.details.get("machine")
    if not isinstance(machine, dict):
        return ""
    return "Measured with " + ", ".join(f"{key} {value}" for key, value in machine.items()) + ".\n"


def _origin(results: Sequence[Result]) -> str:
    """Says so where the rows are not of one run, or the product was changed between them."""
    runs: dict[str, list[str]] = {}
    for result in results:
        runs.setdefault(str(result.details.get("run")), []).append(result.name)
    states = {result.details.get("sources") for result in results if "sources" in result.details}
    changed = f" The sources changed meanwhile: {len(states)} states of them were measured." if len(states) > 1 else ""
    if len(runs) == 1:
        return f"All rows are of one run.{changed}\n"
    listed = "".join(f"\n- {run}: {', '.join(names)}" for run, names in sorted(runs.items()))
    return f"The rows are of {len(runs)} runs; a later one replaced earlier figures.{changed}\n{listed}\n"


def _miss(result: Result, row: Row) -> str:
    return f"- **{result.name}**: {ratio(result)} (of the reference), and {target(result)} was asked. {row.reason}\n"
