"""`python -m bench [--quick] [NAME...]`: every promise about speed as a ratio, measured in one run.

Progress goes to standard error, the table to standard output. Exits with 0 also where a target is missed (the table
says so), and with 1 where a row failed to run: the others are measured and written all the same. The files are written
after each row, so that a run that is stopped loses nothing of what it has measured.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from bench import report
from bench.leftovers import end_leftovers
from bench.measured import FREE, Result, Row, Skipped, judge, without_figure
from bench.only_until import only_until
from bench.rows import ROWS
from bench.stage import QUICK, ROOT, Sizes, Stage

#: How many seconds longer than planned the last row may take before it is cut off.
_PATIENCE = 50.0


def main(arguments: Sequence[str]) -> int:
    """Measure the rows that the command line names, print the table, and write the files."""
    chosen = _parse(arguments)
    words = [word.lower() for word in chosen.names]
    rows = [row for row in ROWS if (any(word in row.name.lower() for word in words) if words else not row.is_long)]
    if not rows:
        print(f"bench: no row's name contains {' or '.join(words)}; the rows are:", file=sys.stderr)
        print("\n".join(f"  {row.name}" for row in ROWS), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="rekindle-bench-") as folder:
        stage = Stage(Path(folder).resolve(), QUICK if chosen.quick else Sizes())
        _warn_about_memory_disks(stage.folder)
        run = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        end, keep = monotonic() + 60 * chosen.minutes, _ignore if chosen.quick else _write
        busy = _load()
        if busy > FREE * (os.cpu_count() or 1):
            _tell(f"bench: this machine is busy: a load of {busy:.1f} before the first row; the page will say so")
        results = _measured(rows, stage, run, end, judged=not chosen.quick, keep=keep, busy=busy)
    print(report.table(results))
    print()
    failed = [result for result in results if "failed" in result.details]
    if chosen.quick:
        print("A quick run: sizes are too small for the targets, so none was judged and no file was written.")
    else:
        print("wrote " + ", ".join(str(path.relative_to(ROOT)) for path in report.FILES))
    for result in failed:
        print(f"bench: {result.name} failed to run: {result.details['failed']}", file=sys.stderr)
    return 1 if failed else 0


def _ignore(_result: Result) -> None:
    pass


def _measured(
    rows: Sequence[Row],
    stage: Stage,
    run: str,
    end: float,
    *,
    judged: bool,
    keep: Callable[[Result], None] = _ignore,
    busy: float = 0.0,
) -> list[Result]:
    """The rows one after the other, as long as there is time. Each is given to `keep` as soon as it is there."""
    results: list[Result] = []
    for number, row in enumerate(rows, start=1):
        if monotonic() > end:
            late = "the time for the whole run was over: `make bench ROWS=…` measures it, `MINUTES=…` gives more"
            result = without_figure(row, "skipped", late)
            result = replace(result, details={**result.details, "run": run})
            results.append(result)
            keep(result)
            continue
        _tell(f"[{number}/{len(rows)}] {row.name} … ", end="")
        begun = monotonic()
        with only_until(min(end + _PATIENCE, begun + row.seconds)):
            result = _measure(row, stage, judged=judged)
        known = {"run": run, "load_before_run": round(busy, 1), "took_s": round(monotonic() - begun)}
        result = replace(result, details={**result.details, **known})
        results.append(result)
        keep(result)
        if left := end_leftovers(stage.folder):
            _tell(f"({left} processes were left over and are ended) ", end="")
        _tell(f"{_in_short(results[-1])} ({monotonic() - begun:.0f} s)")
    return results


def _tell(text: str, end: str = "\n") -> None:
    print(text, end=end, file=sys.stderr, flush=True)


def _in_short(result: Result) -> str:
    for why in ("skipped", "failed"):
        if why in result.details:
            return f"{why.upper()}: {result.details[why]}"
    return report.ratio(result)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Ratios against references, in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only rows whose name contains one of these texts")
    parser.add_argument(
        "--minutes", type=float, default=14, help="how long the whole run may take; rows that come too late are skipped"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs; targets are not judged")
    return parser.parse_args(arguments)


def _measure(row: Row, stage: Stage, *, judged: bool) -> Result:
    try:
        result = judge(row, row.measure(stage), judged=judged)
    except Skipped as missing:
        return without_figure(row, "skipped", str(missing))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # what the tests' own helpers raise is no Exception
        traceback.print_exc()
        return without_figure(row, "failed", f"{type(error).__name__}: {error}")
    return replace(result, details={**result.details, "sources": _sources(), "machine": _machine()})


def _write(result: Result) -> None:
    """Put a row among those of earlier runs, in the order of the table, and write everything."""
    known = report.load()
    before = known.get(result.name)
    if result.ratio is None and before is not None:
        # It keeps the figure that it had, with the run that it is of; the page says that it gave none this time.
        why = result.details.get("failed") or result.details.get("skipped")
        result = replace(before, details={**before.details, "since": f"{result.details['run']}: {why}"})
    known[result.name] = result
    report.write([known[row.name] for row in ROWS if row.name in known], ROWS)


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


def _load() -> float:
    """What else this machine had to do in the last minute, before anything was measured."""
    return os.getloadavg()[0]


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
