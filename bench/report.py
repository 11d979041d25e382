"""Writes the results: a table for the terminal, `results.json`, and the page with its plot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from bench.measured import FREE, Result, Row
from bench.plot import draw
from bench.stage import ROOT

RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"
PLOT = ROOT / "docs" / "benchmarks.svg"
FILES = (RESULTS, PAGE, PLOT)

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

`make bench` ends by itself: after 14 minutes (`MINUTES=…`) it begins no further row, and names those as skipped; a row
that takes longer than seven minutes is cut off and counts as failed. Each row is printed and written as soon as it is
there, and one that fails stops no other.

Rows with a real agent (Claude Code, with a mock model on this machine) are skipped, and say so, where `make agents`
has not installed it. Rows about amounts (bytes, characters, syncs, shares of a core) are ratios too: "2× as much".

**Retired.** "Durable append, 8 and 64 writers", "append through the daemon" and "commits of 64 sessions at once"
compared events per second with open, append, fsync. Where a sync takes microseconds, that ratio measures the
interpreter and how processes are scheduled, and its target can be met on slow disks only. What they cost on any disk
took their place: syncs per event, processor time per event, and how long the daemon's loop is held up. The details in
`bench/results.json` still have the events per second of both sides.
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
    if "unit" in result.details:
        return f"{shown}× as much"
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


def write(results: Sequence[Result], rows: Sequence[Row]) -> None:
    """Write all three files. Whoever stops the run in the middle finds them whole."""
    texts = (json.dumps([asdict(result) for result in results], indent=2) + "\n", page(results, rows), draw(results))
    for path, text in zip(FILES, texts, strict=True):
        path.parent.mkdir(exist_ok=True)
        new = path.with_name(f"{path.name}.new")
        new.write_text(text, "utf-8")
        new.replace(path)


def page(results: Sequence[Result], rows: Sequence[Row]) -> str:
    """The page's Markdown."""
    known = {row.name: row for row in rows}
    missed = [result for result in results if result.met is False]
    parts = [_INTRO, "## Results\n", _markdown(results)]
    machines = {json.dumps(result.details.get("machine"), sort_keys=True): result for result in results}
    parts.extend(map(_measured_on, machines.values()))
    parts.append(_origin(results))
    parts.append(_busy(results))
    parts.append(_took(results))
    parts.append(_without(results))
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


def _busy(results: Sequence[Result]) -> str:
    """Names the rows of runs before which the machine already had other work."""
    loads: dict[tuple[str, float, int], list[str]] = {}
    for result in results:
        load, machine = result.details.get("load_before_run", 0.0), result.details.get("machine")
        cores = int(machine["cores"]) if isinstance(machine, dict) else 1
        if load > FREE * cores:
            loads.setdefault((str(result.details["run"]), load, cores), []).append(result.name)
    if not loads:
        return ""
    listed = "".join(
        f"\n- {run}, a load of {load:g} on {cores} cores before it began: {', '.join(names)}"
        for (run, load, cores), names in sorted(loads.items())
    )
    return f"**Measured on a machine that was busy with other work**; they may look worse than they are:\n{listed}\n"


def _took(results: Sequence[Result]) -> str:
    """How long a whole run takes, as far as it is known of each row."""
    known = [result.details["took_s"] for result in results if "took_s" in result.details]
    if not known:
        return ""
    some = "" if len(known) == len(results) else f" (for {len(known)} of the {len(results)} rows that is known)"
    return f"Together the rows took {sum(known) / 60:.1f} minutes{some}.\n"


def _without(results: Sequence[Result]) -> str:
    """Names the rows that gave no figure when they were tried last."""
    listed = [f"- **{result.name}**, {result.details['since']}" for result in results if "since" in result.details]
    return "\n".join(("These gave no figure when they were tried last:\n", *listed)) + "\n" if listed else ""


def _miss(result: Result, row: Row) -> str:
    return f"- **{result.name}**: {ratio(result)} (of the reference), and {target(result)} was asked. {row.reason}\n"
