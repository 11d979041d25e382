"""`python -m bench [--quick] [NAME...]`: every promise about speed as a ratio, measured in one run.

Exits with 0 also where a target is missed (the table says so), and with 1 where a row failed to run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from bench import report
from bench.measured import Result, Row, Skipped, judge, without_figure
from bench.rows import ROWS
from bench.stage import QUICK, ROOT, Sizes, Stage


def main(arguments: Sequence[str]) -> int:
    """Measure the rows that the command line names, print the table, and write the files."""
    chosen = _parse(arguments)
    words = [word.lower() for word in chosen.names]
    rows = [row for row in ROWS if not words or any(word in row.name for word in words)]
    if not rows:
        print(f"bench: no row's name contains {' or '.join(words)}; the rows are:", file=sys.stderr)
        print("\n".join(f"  {row.name}" for row in ROWS), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="rekindle-bench-") as folder:
        stage = Stage(Path(folder).resolve(), QUICK if chosen.quick else Sizes())
        _warn_about_memory_disks(stage.folder)
        run = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        results = [_measure(row, stage, run, judged=not chosen.quick) for row in rows]
    print()
    print(report.table(results))
    print()
    failed = any("failed" in result.details for result in results)
    if chosen.quick:
        print("A quick run: sizes are too small for the targets, so none was judged and no file was written.")
    elif failed:
        print("A row failed to run, so no file was written.")
    else:
        _write(results)
    return 1 if failed else 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Ratios against references, in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only rows whose name contains one of these words")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs; targets are not judged")
    return parser.parse_args(arguments)


def _measure(row: Row, stage: Stage, run: str, *, judged: bool) -> Result:
    begun = perf_counter()
    print(f"{row.name} … ", end="", flush=True)
    try:
        result = judge(row, row.measure(stage), judged=judged)
    except Skipped as missing:
        print(f"SKIPPED: {missing}", flush=True)
        return without_figure(row, "skipped", str(missing))
    except Exception as error:
        print(f"FAILED TO RUN: {error}", flush=True)
        traceback.print_exc()
        return without_figure(row, "failed", f"{type(error).__name__}: {error}")
    print(f"{report.ratio(result)} ({perf_counter() - begun:.0f} s)", flush=True)
    return replace(result, details={**result.details, "run": run, "sources": _sources(), "machine": _machine()})


def _write(results: Sequence[Result]) -> None:
    """Put the rows among those of the last run, in the order of the table, and write everything."""
    known = {**report.load(), **{result.name: result for result in results}}
    ordered = [known[row.name] for row in ROWS if row.name in known]
    for path in report.write(ordered, ROWS):
        print(f"wrote {path.relative_to(ROOT)}")


def _sources() -> str:
    """Which state of the product was measured: rows of different states do not belong to one comparison."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _machine() -> dict[str, object]:
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _warn_about_memory_disks(folder: Path) -> None:
    """A sync costs nothing in a memory file system, so the rows on appends would say nothing."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text("utf-8").splitlines()]
    except OSError:
        return
    around = [(len(place), kind) for place, kind in mounts if folder.is_relative_to(place)]
    if around and max(around)[1] in ("tmpfs", "ramfs"):
        print("bench: the temporary folder is in memory; set TMPDIR to one on a disk for the rows on appends\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
